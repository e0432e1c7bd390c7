"""Writes all mutants of a Swift file into one text. Each is off until the environment variable MUTANT is its number.

This reads tokens, not syntax: it relies on the project's format (spaces around infix operators, a statement on a line) and
on the compiler, which rejects wrong guesses. All lines keep their numbers.
"""
import collections
import re

LAZY = "(a: Bool, b: @autoclosure () throws -> Bool) rethrows -> Bool"
NUMBERS = ["(a: Timestamp, b: Duration) -> Timestamp", "<T: AdditiveArithmetic>(a: T, b: T) -> T"]
COMPARABLE = [
    "<T: Comparable>(a: T, b: T) -> Bool", "<T: Comparable, U: Comparable>(a: (T, U), b: (T, U)) -> Bool",
    "<T: Comparable, U: Comparable, V: Comparable>(a: (T, U, V), b: (T, U, V)) -> Bool",
]
EQUATABLE = ["<T: Equatable>(a: T, b: T) -> Bool", "<T>(a: T?, b: _OptionalNilComparisonType) -> Bool"]
DECIDES = re.compile(r" (==|!=|<=|>=|<|>|&&|\|\|) |(^|[\s(])!")
STATEMENT = re.compile(
    r"(?:[a-z_][\w.?!\[\]]*|\([\w., ]+\)) \+?= \S.*|(?:_ = )?(?:try )?[a-z][\w.?!\[\]]*\(.*\)|for .* \{ .* \}", re.S
)
OTHER = re.compile(r"(?:return|throw|if|guard|case|switch|func|init|self\.init)\b|.*=$", re.S)
EXIT = re.compile(r"( *)(?:if|guard) .*(\{ (?:return|throw)\b[^{}]*\})")
CASE = re.compile(r"( *)(case [^:]*|default): ((?:return |\w+ = )?)([^{}=]+)")
NEGATED = "infix operator {s}: ConditionPrecedence\npackage func {s}(a: Bool, b: Void) -> Bool {{ on({n}) ? !a : a }}"
METHOD = "extension Sequence where Element: Comparable {{ package func {f}_{n}() -> %s {{ on({n}) ? %s : {f}() }} }}"


def infix(operator, precedence, others, signatures):
    """`signatures` has the results of the mutants by signature."""
    declaration = f"infix operator {{s}}: {precedence}Precedence"
    for signature, results in signatures.items():
        body = "".join(f"on({{n}} + {index}) ? {result} : " for index, result in enumerate(results))
        body = f"{'try ' * (signature == LAZY)}{body}a {operator} b{'()' * (operator in ('&&', '||', '??'))}"
        declaration += f"\npackage func {{s}}{signature} {{{{ {body} }}}}"
    return rf"(?<=[ \n]){re.escape(operator)}(?=[ \n])", [f"{operator} to {other}" for other in others], "{s}", declaration


# For each pattern the names of its mutants, the new text, and its declaration. {f} is the found text, {n} the number of
# the first mutant, and {s} an operator's name.
TOKENS = [
    *(infix(operator, "Comparison", others, dict.fromkeys(signatures, [f"a {other} b" for other in others]))
      for operator, others, signatures in [
          ("<", ["<=", ">="], COMPARABLE), ("<=", ["<", ">"], COMPARABLE), (">", [">=", "<="], COMPARABLE),
          (">=", [">", "<"], COMPARABLE), ("==", ["!="], EQUATABLE), ("!=", ["=="], EQUATABLE),
      ]),
    infix("&&", "LogicalConjunction", ["left", "right"], {LAZY: ["a", "b()"]}),
    infix("||", "LogicalDisjunction", ["left", "right"], {LAZY: ["a", "b()"]}),
    infix("??", "NilCoalescing", ["default", "value"], {
        "<T>(a: T?, b: @autoclosure () -> T) -> T": ["b()", "a!"],
        "<T>(a: T?, b: @autoclosure () -> T?) -> T?": ["b()", "a"],
    }),
    infix("+", "Addition", ["-"], dict.fromkeys(NUMBERS, ["a - b"])
          | {"<T: RangeReplaceableCollection>(a: T, b: T) -> T": ["a"]}),
    infix("-", "Addition", ["+"], dict.fromkeys(NUMBERS, ["a + b"]) | {"(a: Timestamp, b: Timestamp) -> Duration": ["b - a"]}),
    infix("*", "Multiplication", ["left"], {"(a: Int, b: Int) -> Int": ["a"]}),
    infix("/", "Multiplication", ["left"], {f"(a: {kind}, b: Int) -> {kind}": ["a"] for kind in ("Int", "Duration")}),
    (r"(?<=[\s(])!(?=[\w(])", ["! removed"], "{s}",
     "prefix operator {s}\npackage prefix func {s}(a: Bool) -> Bool {{ on({n}) ? a : !a }}"),
    (r"(?<![\w.])(?:min|max)(?=[()])", ["{f} to first", "{f} to second"], "{f}_{n}",
     "package func {f}_{n}<T: Comparable>(_ a: T, _ b: T) -> T {{ on({n}) ? a : on({n} + 1) ? b : {f}(a, b) }}"),
    (r"(?<=\.)max(?=\(\))", ["max() to min()"], "{f}_{n}", METHOD % ("Element?", "min()")),
    (r"(?<=\.)sorted(?=\(\))", ["sorted() reversed"], "{f}_{n}", METHOD % ("[Element]", "sorted(by: >)")),
    (r"(?<![\w.$])\d[\d_]*(?![\w.])", ["{f} plus 1"], "off({n}, {f})", ""),
    (r"\b(?:true|false)\b", ["{f} flipped"], "flip({n}, {f})", ""),
    (r"\s+\?(?=\s)", ["? negated"], " {s} (){f}", NEGATED),
]
Mutant = collections.namedtuple("Mutant", "number file line name")

PRELUDE = """import Foundation
import RegistryCore
private let current = ProcessInfo.processInfo.environment["MUTANT"].flatMap(Int.init)
package func on(_ mutant: Int) -> Bool { mutant == current }
package func off<T: BinaryInteger>(_ mutant: Int, _ value: T) -> T { on(mutant) ? value + 1 : value }
package func flip(_ mutant: Int, _ value: Bool) -> Bool { on(mutant) ? !value : value }
package func absent<T>(_ mutant: Int, _ value: T?) -> T? { on(mutant) ? nil : value }
package func pick<T>(_ mutant: Int, _ value: @autoclosure () -> T, _ other: @autoclosure () -> T) -> T {
    on(mutant) ? other() : value()
}
precedencegroup ConditionPrecedence { higherThan: TernaryPrecedence lowerThan: LogicalDisjunctionPrecedence }"""


def symbol(number):
    """The name of an operator, which cannot contain digits."""
    return chr(0x2200 + number // 200) + chr(0x2200 + number % 200)


def mask(text):
    """The text with spaces for comments and quotation marks for strings."""
    pieces = re.compile(r'//[^\n]*|"(?:\\\((?:[^()]|\([^()]*\))*\)|\\.|[^"\\])*"')
    return pieces.sub(lambda found: (" " if found[0][0] == "/" else '"') * len(found[0]), text)


def names_in(pattern, text):
    return [name for name in re.findall(r"\b(?:let|var) (\w+)", pattern) if re.search(rf"\b{name}\b", text)]


class File:
    """The mutants of a file. `declarations` gets the operators and functions that stand for the changed ones."""

    def __init__(self, name, text, mutants, declarations, rejected):
        self.name, self.text, self.code, self.lines = name, text, mask(text), text.split("\n")
        self.mutants, self.declarations, self.rejected = mutants, declarations, rejected
        self.edits, self.hoists, self.names = [], {}, {}

    def add(self, position, *changes):
        """The numbers of new mutants; None if the compiler rejected them."""
        line = self.text.count("\n", 0, position)
        made = []
        for change in changes:
            name = f"{self.name} | {self.lines[line].split(' //')[0].strip()} | {change}"
            count = self.names[name] = self.names.get(name, 0) + 1
            name += f" #{count}" if count > 1 else ""
            made.append(Mutant(len(self.mutants) + 1, self.name, line + 1, name))
            self.mutants.append(made[-1])
        return None if any(mutant.name in self.rejected for mutant in made) else [mutant.number for mutant in made]

    def edit(self, start, end, new, rank=4):
        self.edits.append((start, rank, len(self.edits), end, new))

    def wrap(self, start, end, opening, closing, rank=3):
        self.edit(start, start, opening, rank)
        self.edit(end, end, closing, 3 - rank)

    def mutated(self):
        self.change_tokens()
        self.change_conditions()
        self.change_statements()
        pieces, position = [], 0
        for start, _, _, end, new in sorted(self.edits):
            pieces += [self.text[position:start], new]
            position = end
        lines = "".join([*pieces, self.text[position:]]).split("\n")
        for index, number in sorted(self.hoists.items()):
            lines[index] = f"if on({number}) {{ {lines[index + 1].strip()} }}; {lines[index]}"
        return "\n".join(lines)

    def change_tokens(self):
        for pattern, changes, new, declaration in TOKENS:
            for found in re.finditer(pattern, self.code):
                line = self.code[self.code.rfind("\n", 0, found.start()) + 1:found.start()]
                if line.endswith("func ") or re.search(r"\b(func|extension)\b.* where ", line):
                    continue
                if numbers := self.add(found.start(), *(change.format(f=found[0]) for change in changes)):
                    values = {"f": found[0], "n": numbers[0], "s": symbol(numbers[0])}
                    self.edit(*found.span(), new.format(**values))
                    self.declarations.append(declaration.format(**values))

    def clauses(self, start, stop):
        """The parts of a condition, which ends with `stop` outside of brackets."""
        depth, ends = 0, re.compile(rf",|{stop}")
        for position in range(start, len(self.code)):
            if depth == 0 and (end := ends.match(self.code, position)):
                yield re.compile(r"\s*").match(self.code, start).end(), position
                if end[0] != ",":
                    return
                start = position + 1
            depth += (self.code[position] in "([{") - (self.code[position] in ")]}")

    def change_conditions(self):
        for found in re.finditer(r"\b(if|while|guard|where)\b", self.code):
            line = self.code[self.code.rfind("\n", 0, found.start()) + 1:found.start()]
            if found[1] == "where" and not line.lstrip().startswith("for "):
                continue
            for start, end in self.clauses(found.end(), r"\s+else\b" if found[1] == "guard" else r"\s*\{"):
                if binding := re.match(r"(?:let|var) (\w+)(?:: [\w.?]+)?( = )?", self.code[start:end]):
                    if numbers := self.add(start, f"{binding[1]} is nil"):
                        if binding[2]:
                            self.wrap(start + binding.end(), end, f"absent({numbers[0]}, ", ")")
                        else:
                            self.edit(end, end, f" = absent({numbers[0]}, {binding[1]})", 3)
                elif not self.code.startswith("case ", start) and not DECIDES.search(self.code[start:end]):
                    if numbers := self.add(start, f"{' '.join(self.text[start:end].split())} negated"):
                        self.edit(end, end, f" {symbol(numbers[0])} ()", 0)
                        self.declarations.append(NEGATED.format(n=numbers[0], s=symbol(numbers[0])))

    def change_statements(self):
        """Omits statements, swaps adjacent exits, and gives a case the result of the case before."""
        codes, depth, position, is_delegated, closing = self.code.split("\n"), 0, 0, True, None
        for index, code in enumerate(codes):
            if depth == 0:
                first, start = index, position + len(code) - len(code.lstrip())
            depth += len(re.findall(r"[(\[]", code)) - len(re.findall(r"[)\]]", code))
            position += len(code) + 1
            if depth or index + 1 == len(codes):
                continue
            # An initializer must set all properties, unless it calls another one.
            if re.match(r" *(?:\w+ )*init\??[(<]", codes[first]) and code.endswith("{"):
                is_delegated, closing = False, re.match(" *", codes[first])[0] + "}"
            statement = self.code[start:position - 1].rstrip()
            is_delegated = is_delegated or code == closing or statement.startswith("self.init(")
            is_part = re.match(r" *[.?:&|]", codes[index + 1]) or codes[first - 1].endswith(("=", "return"))
            sets = re.match(r"\S+ = |\(", statement)
            if STATEMENT.fullmatch(statement) and not OTHER.match(statement) and not is_part and (is_delegated or not sets):
                if numbers := self.add(start, "omitted"):
                    self.wrap(start, start + len(statement), f"if !on({numbers[0]}) {{ ", " }", 2)
            self.change_order(index, codes[index], codes[index + 1], position)

    def change_order(self, index, code, following, position):
        """`position` is the start of the following line."""
        exits = EXIT.fullmatch(code), EXIT.fullmatch(following)
        if all(exits) and exits[0][1] == exits[1][1] and exits[0][2] != exits[1][2]:
            if not (code.lstrip().startswith("guard") and names_in(code, following)):
                if numbers := self.add(position - 2, "after the next line"):
                    self.hoists[index] = numbers[0]
        cases = CASE.fullmatch(code), CASE.fullmatch(following.rstrip())
        if all(cases) and cases[0][3] == cases[1][3] and cases[0][1] == cases[1][1]:
            start, end = position + cases[1].start(4), position + cases[1].end(4)
            value, former = self.text[start:end], self.lines[index][cases[0].start(4):]
            if value != former and not names_in(cases[0][2], former):
                if numbers := self.add(start, "the result of the case before"):
                    self.wrap(start, end, f"pick({numbers[0]}, ", f", {former})")
