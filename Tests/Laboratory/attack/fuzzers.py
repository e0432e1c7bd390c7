"""The fuzzers as rows of the table."""

import grammar
import ways


class Fuzzer:
    """A program that generates requests. The same seed gives the same requests."""

    def __init__(self, name, module):
        self.name, self.does, self.must = name, module.DOES, module.MUST
        self.usual, self.long, self.run = module.usual, module.long, module.run
        self.offered = ""


ALL = {"ways": Fuzzer("ways", ways), "grammar": Fuzzer("grammar", grammar)}
