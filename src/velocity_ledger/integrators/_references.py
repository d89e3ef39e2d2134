"""The papers behind the integrators, as BibTeX."""

REFERENCES = {
    "lu2019macaron": """@article{lu2019macaron,
  title = {Understanding and Improving Transformer From a Multi-Particle Dynamic System Point of
           View},
  author = {Lu, Yiping and Li, Zhuohan and He, Di and Sun, Zhiqing and Dong, Bin and Qin, Tao and
            Wang, Liwei and Liu, Tie-Yan},
  journal = {arXiv preprint arXiv:1906.02762},
  year = {2019}
}""",
    "polyak1964": """@article{polyak1964,
  title = {Some Methods of Speeding up the Convergence of Iteration Methods},
  author = {Polyak, Boris T.},
  journal = {USSR Computational Mathematics and Mathematical Physics},
  volume = {4},
  number = {5},
  pages = {1--17},
  year = {1964}
}""",
    "sander2021momentum": """@inproceedings{sander2021momentum,
  title = {Momentum Residual Neural Networks},
  author = {Sander, Michael E. and Ablin, Pierre and Blondel, Mathieu and Peyr\\'e, Gabriel},
  booktitle = {International Conference on Machine Learning},
  year = {2021},
  note = {arXiv:2102.07870}
}""",
    "bouhsine2026ledger": """@misc{bouhsine2026ledger,
  title = {A Velocity Ledger for Transformers, in JAX/Flax NNX},
  author = {Bouhsine, Taha},
  year = {2026},
  howpublished = {Web article}
}""",
    "loshchilov2024ngpt": """@article{loshchilov2024ngpt,
  title = {{nGPT}: Normalized Transformer with Representation Learning on the Hypersphere},
  author = {Loshchilov, Ilya and Hsieh, Cheng-Ping and Sun, Simeng and Ginsburg, Boris},
  journal = {arXiv preprint arXiv:2410.01131},
  year = {2024}
}""",
    "bachlechner2020rezero": """@article{bachlechner2020rezero,
  title = {{ReZero} is All You Need: Fast Convergence at Large Depth},
  author = {Bachlechner, Thomas and Majumder, Bodhisattwa Prasad and Mao, Huanru Henry and
            Cottrell, Garrison W. and McAuley, Julian},
  journal = {arXiv preprint arXiv:2003.04887},
  year = {2020}
}""",
    "touvron2021cait": """@article{touvron2021cait,
  title = {Going Deeper with Image Transformers},
  author = {Touvron, Hugo and Cord, Matthieu and Sablayrolles, Alexandre and Synnaeve, Gabriel and
            J\\'egou, Herv\\'e},
  journal = {arXiv preprint arXiv:2103.17239},
  year = {2021}
}""",
    "zimin2026yuriiformer": """@article{zimin2026yuriiformer,
  title = {{YuriiFormer}},
  author = {Zimin and Polyanskiy and Rigollet},
  journal = {arXiv preprint arXiv:2601.23236},
  year = {2026}
}""",
    "gai2026streams": """@article{gai2026streams,
  title = {Momentum Streams for Optimizer-Inspired Transformers},
  author = {Gai and Huang and Wu},
  journal = {arXiv preprint arXiv:2605.24425},
  year = {2026}
}""",
    "zhang2024bdia": """@article{zhang2024bdia,
  title = {{BDIA} Transformer},
  journal = {arXiv preprint arXiv:2407.09093},
  year = {2024}
}""",
    "gal2025reversing": """@article{gal2025reversing,
  title = {Reversing Large Language Models},
  author = {Gal and others},
  journal = {arXiv preprint arXiv:2512.02056},
  year = {2025}
}""",
    "li2022ode": """@article{li2022ode,
  title = {{ODE} Transformer: An Ordinary Differential Equation-Inspired Model for Sequence
           Generation},
  author = {Li, Bei and others},
  journal = {arXiv preprint arXiv:2203.09176},
  year = {2022}
}""",
    "strang1968": """@article{strang1968,
  title = {On the Construction and Comparison of Difference Schemes},
  author = {Strang, Gilbert},
  journal = {SIAM Journal on Numerical Analysis},
  volume = {5},
  number = {3},
  pages = {506--517},
  year = {1968}
}""",
    "absil2008": """@book{absil2008,
  title = {Optimization Algorithms on Matrix Manifolds},
  author = {Absil, P.-A. and Mahony, R. and Sepulchre, R.},
  publisher = {Princeton University Press},
  year = {2008}
}""",
    "kingma2015adam": """@inproceedings{kingma2015adam,
  title = {Adam: A Method for Stochastic Optimization},
  author = {Kingma, Diederik P. and Ba, Jimmy},
  booktitle = {International Conference on Learning Representations},
  year = {2015},
  note = {arXiv:1412.6980}
}""",
    "loshchilov2019adamw": """@inproceedings{loshchilov2019adamw,
  title = {Decoupled Weight Decay Regularization},
  author = {Loshchilov, Ilya and Hutter, Frank},
  booktitle = {International Conference on Learning Representations},
  year = {2019},
  note = {arXiv:1711.05101}
}""",
    "jordan2024muon": """@misc{jordan2024muon,
  title = {Muon: An Optimizer for Hidden Layers in Neural Networks},
  author = {Jordan, Keller and others},
  year = {2024}
}""",
    "gupta2018shampoo": """@inproceedings{gupta2018shampoo,
  title = {Shampoo: Preconditioned Stochastic Tensor Optimization},
  author = {Gupta, Vineet and Koren, Tomer and Singer, Yoram},
  booktitle = {International Conference on Machine Learning},
  year = {2018},
  note = {arXiv:1802.09568}
}""",
    "zhu2024hyper": """@article{zhu2024hyper,
  title = {Hyper-Connections},
  author = {Zhu and others},
  journal = {arXiv preprint arXiv:2409.19606},
  year = {2024}
}""",
    "xie2025mhc": """@article{xie2025mhc,
  title = {{mHC}: Manifold-Constrained Hyper-Connections},
  author = {Xie and others},
  journal = {arXiv preprint arXiv:2512.24880},
  year = {2025}
}""",
    "pagliardini2024denseformer": """@article{pagliardini2024denseformer,
  title = {{DenseFormer}: Enhancing Information Flow in Transformers via Depth Weighted Averaging},
  author = {Pagliardini and others},
  journal = {arXiv preprint arXiv:2402.02622},
  year = {2024}
}""",
    "noren2026stable": """@misc{noren2026stable,
  title = {{StableTransformerTinyStories}},
  author = {Noren, H{\\aa}kon},
  year = {2026},
  howpublished = {Public code: github.com/hakonnoren/StableTransformerTinyStories}
}""",
    "stein2026sympformer": """@article{stein2026sympformer,
  title = {SympFormer},
  author = {Stein, Viktor and Li and Steidl, Gabriele},
  journal = {arXiv preprint arXiv:2603.16535},
  year = {2026}
}""",
}
"""By citation key. Where a source's title or names could not be checked, they are left short."""
