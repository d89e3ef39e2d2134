"""The one exception type that means: the user can mend this."""


class UserError(Exception):
    """A mistake in what the user gave; its text is one line that says what to do.

    The command line prints it on standard error and exits 2. From Python it is an ordinary
    exception.
    """

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))
