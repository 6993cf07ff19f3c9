"""Measure protok beside every other tokenizer: ``python -m benchmarks``, or ``make bench``.

`texts` and `vocabularies` make the data, once, outside the repository. `peers` says how each
library is called, `sample` takes one measurement in a process of its own, `run` starts those
processes in turn, `plan` lists what is measured, `goals` holds the figures against bounds, and
`report` writes them down. `worst_case`, `added_tokens`, `chat` and `stream` measure what is only
protok's.
"""
