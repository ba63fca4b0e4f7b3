#!/usr/bin/env python3
"""Writes what follows from the tables of options, src/petsc/options.def and others: setters, getters, their manual
pages, prototypes, the words of enums, tables.

config/options.py          writes it ("make options")
config/options.py --check  says of each file, in TAP, whether it is up to date ("make test"); exits with 1 if one is not
"""
import os, re, sys, textwrap

DEF, RESEARCH, LEVELS = 'src/petsc/options.def', 'src/research/options.def', 'src/pc/baimg/options.def'
TYPES, HEADER, MANUAL = 'include/petscbaitypes.h', 'include/petscbai.h', 'docs/options.md'
WORDS = 'src/petsc/generated/words.def'
FACES = ('KSPBAI', 'PCBAI', 'PCBAIMG')
STRUCTS = dict(zip(FACES, ('BAIFaceKSP', 'BAIFacePC', 'BAIFaceMG')))
PAGES = dict(zip(FACES, ('src/ksp/bai/kspbai.c', 'src/pc/baismooth/pcbai.c', 'src/pc/baimg/pcbaimg.c')))
SETTERS = {
    face: '%s/generated/%sset.c' % (os.path.dirname(page), os.path.basename(page)[:-2]) for face, page in PAGES.items()
}
WHAT = {'KSP': 'the solver', 'PC': 'the preconditioner'}
METHODS = {
    'RELAXATION': 'relaxation',
    'KRYLOV': 'krylov',
    'BOTH_METHODS': 'both; the option selects relaxation, unless krylov is asked for',
    'EITHER': 'both',
}
EFFECT = {
    'KSP': 'A new value takes effect at the next `KSPSolve()`, also after `KSPSetUp()`.',
    'PC': 'A new value takes effect at the next application of the preconditioner, also after `PCSetUp()`.',
}
SELECTS = {
    'RELAXATION': 'Setting it selects method relaxation, and is an error with method krylov: see `KSPBAISetMethod()`.',
    'KRYLOV': 'Setting it selects method krylov, and is an error with method relaxation: see `KSPBAISetMethod()`.',
    'BOTH_METHODS': 'Setting it selects method relaxation, unless krylov is asked for: see `KSPBAISetMethod()`.',
}
# Ranges of numbers and flags: in manual pages, and what users may type; {0} and {1} are the limits, {next} is {0} + 1
RANGES = {
    'BETWEEN': ('at least {0} and at most {1}', '≥ {0}, ≤ {1}'),
    'AT_LEAST': ('at least {0}', '≥ {0}'),
    'AT_LEAST_OR': ('at least {next}, or {0}: {1}', '≥ {next}, or {0} ({0}: {1})'),
    'COUNT': ('at least 1 and at most {0}, or `PETSC_DECIDE`: {1}', '≥ 1, ≤ {0}, or `auto` (auto: {1})'),
    'REAL_AT_LEAST': ('at least {0}, where {0} means {1}', '≥ {0} ({0}: {1})'),
    'FRACTION': ('at least 0 and less than 1', '≥ 0 and < 1'),
    'POSITIVE_OR_0': ('positive, or 0: {0}', '> 0, or 0 (0: {0})'),
    'POSITIVE': ('positive', '> 0'),
    'FLAG': (None, '`true`, `false`'),
    'VIEWER': (None, '`true`, `false`, or a viewer as for `-ksp_view`'),
    'FLAG_OR_AUTO': (None, '`true`, `false` or `auto`'),
}
WIDTH = 120
CHECK = '--check' in sys.argv[1:]
MADE = 'made from src/petsc/options.def and others by "make options"'

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))


def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def split(text):
    """The arguments of a macro: commas in brackets or strings do not separate them"""
    parts = re.findall(r'((?:"(?:\\.|[^"\\])*"|\([^()]*\)|[^,()"])*)(?:,|$)', text)
    return [part.strip() for part in parts[:-1]]


def class_of(face):
    """KSP or PC"""
    return face[: face.index('BAI')]


class Enum:
    """The words of a type of petscbaitypes.h, and what they mean by the page of the type"""

    def __init__(self, name):
        types = read(TYPES)
        declared = re.search(r'typedef enum \{([^}]*)\} %s;' % name, types)
        if not declared:
            sys.exit('%s: no enum %s' % (TYPES, name))
        self.constants = split(declared.group(1))
        self.prefix = re.sub('[^_]*$', '', os.path.commonprefix(self.constants))
        self.words = [constant[len(self.prefix) :].lower() for constant in self.constants]
        page = re.search(r'/\*E\s+%s - .*?E\*/' % name, types, re.S).group(0)
        values = re.split(r'^[+.-] +', page[page.index('Values:') : page.index('Options Database Key')], flags=re.M)[1:]
        self.meanings = [
            ' '.join(re.sub(r'^`\w+`\s*- ', '', re.sub(r'\(default[^)]*\)', '', value)).split()) for value in values
        ]


class Option:
    def __init__(self, comment, row):
        self.field, self.function, self.type, default, self.method, self.range, text = split(row)
        self.text = text.strip('"')
        values = split(default[default.index('(') + 1 : -1])
        self.default = {
            'BOTH': dict(zip(FACES, 2 * values)),
            'KSP_PC': dict(zip(FACES, values)),
            'KSP_ONLY': {'KSPBAI': values[0]},
            'PC_ONLY': {'PCBAI': values[0]},
            'MG_ONLY': {'PCBAIMG': values[0]},
        }[default[: default.index('(')]]
        self.faces = [face for face in FACES if face in self.default]
        self.kind, _, arguments = self.range.rstrip(')').partition('(')
        self.limits = [argument.strip('"') for argument in split(arguments)]
        self.enum = Enum(self.type) if self.kind == 'NAMES' else None
        head, *self.paragraphs = textwrap.dedent(comment).strip().split('\n\n')
        argument, *others = head.splitlines()
        self.argument, _, self.unit = argument.partition(' - ')
        facts = dict(line.split(': ', 1) for line in others)
        self.level = facts.pop('Level', 'intermediate')
        self.see = facts.pop('See', '')
        self.has_getter = facts.pop('Getter', '') != 'by hand'
        if facts or self.method not in METHODS or len(self.text.split()) > 15:
            sys.exit('%s: cannot make sense of option %s' % (DEF, self.field))

    def key(self, face):
        return '-%s_%s_%s' % (class_of(face).lower(), face[len(class_of(face)) :].lower(), self.field)

    def word(self, face):
        """The default as users type it"""
        value = self.default[face]
        if self.enum:
            return self.enum.words[self.enum.constants.index(value)]
        return {
            'PETSC_DECIDE': 'auto',
            'PETSC_BOOL3_UNKNOWN': 'auto',
            'PETSC_TRUE': 'true',
            'PETSC_FALSE': 'false',
        }.get(value, value)

    def typed(self, face):
        """Key and value, the default first"""
        words = self.enum.words if self.enum else ['auto', 'true', 'false'] if self.kind == 'FLAG_OR_AUTO' else []
        if not words:
            return '%s <%s>' % (self.key(face), self.word(face))
        return '%s (%s)' % (self.key(face), '|'.join(sorted(words, key=lambda word: word != self.word(face))))

    def is_chosen(self):
        """Some value leaves the choice to the set-up"""
        words = self.enum.words if self.enum else []
        return self.kind in ('COUNT', 'FLAG_OR_AUTO') or 'auto' in words or 'chosen at set-up' in self.limits

    def range_in(self, where):
        """The row of RANGES in manual pages, 0, or for users, 1"""
        kind = 'AT_LEAST_OR' if self.kind == 'AT_LEAST' and self.limits[1] else self.kind
        return RANGES[kind][where].format(*self.limits, next=int(self.limits[0]) + 1 if kind == 'AT_LEAST_OR' else '')

    def allowed(self, face):
        """What the setter takes, and the default"""
        default = self.default[face]
        if self.kind == 'FLAG_OR_AUTO':
            return '`PETSC_BOOL3_TRUE`, `PETSC_BOOL3_FALSE`, or `PETSC_BOOL3_UNKNOWN` (default): chosen at set-up'
        if self.enum or self.kind in ('FLAG', 'VIEWER'):
            values = self.enum.constants if self.enum else ['PETSC_TRUE', 'PETSC_FALSE']
            if self.enum:
                values = sorted(values, key=lambda value: value != default)
            *others, last = [f'`{value}`' + (' (default)' if value == default else '') for value in values]
            text = f'{", ".join(others)} or {last}'
            return text + '; any other value is an error, `PETSC_ERR_ARG_OUTOFRANGE`' if self.enum else text
        text = self.range_in(0)
        return '%s (default %s); any other value is an error, `PETSC_ERR_ARG_OUTOFRANGE`' % (
            ', '.join(filter(None, [self.unit, text])),
            f'`{default}`' if default.startswith('PETSC') else default,
        )

    def defaults(self):
        first, *others = ['`%s`' % self.word(face) for face in self.faces]
        return first if not others or others[0] == first else '%s; PC: %s' % (first, others[0])

    def says(self):
        """After the word sets"""
        return self.text if re.match(r'(in )?(how|what|where|whether|which)\b', self.text) else 'the ' + self.text

    def notes(self, face):
        """Paragraphs for one face, or for both, those for one then beginning with its name; and the list of
        references, its title first"""
        paragraphs, references = [], []
        for paragraph in self.paragraphs:
            only = re.match(r'(KSP|PC): ', paragraph)
            if only and face and only.group(1) != class_of(face):
                continue
            if re.match(r'References?:\n', paragraph):
                references = re.sub(r'\n +', ' ', paragraph).splitlines()
            else:
                paragraphs.append(re.sub(r'^(KSP|PC): ', '' if face else r'`\1BAI`: ', paragraph).replace('\n', ' '))
        for_face = class_of(face or self.faces[0])
        return [
            [text.replace('{FACE}', for_face).replace('{face}', for_face.lower()) for text in texts]
            for texts in (paragraphs, references)
        ]


def options(path):
    text = read(path)
    rows = re.findall(r'/\*\n((?:(?!\*/).)*?)\*/\nOPTION\(((?:(?!\)\n).)*)\)\n', text, re.S)
    if len(rows) != len(re.findall(r'^OPTION\(', text, re.M)):
        sys.exit(path + ': each row needs a comment before it')
    return [Option(*row) for row in rows]


def fill(text, indent='   ', more=None):
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=more or indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def bullets(lines):
    """A list in the manual pages of PETSc: + first, . between, - last, a single one ."""
    marks = '.' if len(lines) == 1 else '+' + '.' * (len(lines) - 2) + '-'
    parts = [line.partition(' - ') for line in lines]
    return '\n'.join(
        fill(says, '%s  %s%s' % (mark, left, dash), ' ' * (3 + len(left + dash)))
        for mark, (left, dash, says) in zip(marks, parts)
    )


def align(pairs):
    width = max(len(left) for left, _ in pairs)
    return ['%s - %s' % (left.ljust(width), right) for left, right in pairs]


def page(name, says, collective, inputs, outputs, key, level, notes, references, see):
    parts = [fill('%s - %s' % (name, says)), '   %sCollective' % collective]
    for title, lines in (('Input Parameter', inputs), ('Output Parameter', outputs), ('Options Database Key', key)):
        if lines:
            parts.append('   %s%s:\n%s' % (title, 's' if len(lines) > 1 else '', bullets(lines)))
    parts.append('   Level: ' + level)
    if notes:
        parts.append('   Note%s:\n%s' % ('s' if len(notes) > 1 else '', '\n\n'.join(fill(note) for note in notes)))
    if references:
        parts.append('   %s\n%s' % (references[0], '\n\n'.join(fill(text) for text in references[1:])))
    parts.append(fill(see, '.seealso: ', '          '))
    return '/*@\n' + '\n\n'.join(parts) + '\n@*/\n'


def function(face, what, o, argument, value):
    cls = class_of(face)
    obj = cls.lower()
    return f'''PetscErrorCode {face}{what}{o.function}({cls} {obj}, {argument})
{{
  PetscFunctionBegin;
  PetscCall(BAI{what}Option((PetscObject){obj}, &{STRUCTS[face]}, "{o.field}", {value}));
  PetscFunctionReturn(PETSC_SUCCESS);
}}
'''


def setter_and_getter(o, face):
    cls, a = class_of(face), o.argument
    ksp = cls.lower()
    setter, getter = face + 'Set' + o.function, face + 'Get' + o.function
    notes, references = o.notes(face)
    see = o.see.replace('{FACE}', cls)
    selects = SELECTS[o.method] if face == 'KSPBAI' and o.method in SELECTS else ''
    text = page(
        setter,
        'Sets ' + o.says(),
        'Logically ',
        align([(ksp, '%s; the call is ignored unless it is of type `%s`' % (WHAT[cls], face)), (a, o.allowed(face))]),
        [],
        [o.typed(face) + ' - sets it'],
        o.level,
        [selects + ' ' + EFFECT[cls]] + notes if selects else notes + [EFFECT[cls]],
        references,
        ', '.join(filter(None, ['`%s`, `%s()`' % (face, getter), '`%s`' % o.type if o.enum else '', see])),
    )
    text += function(face, 'Set', o, '%s %s' % (o.type, a), '&' + a)
    if not o.has_getter:
        return text
    text += '\n'
    chosen = []
    if o.kind == 'POSITIVE_OR_0':
        chosen = [f'If it is 0, `{cls}View()` shows the smallest factor that set-up chose.']
    elif o.is_chosen():
        chosen = [f'`{cls}View()` shows the value that `{cls}SetUp()` chose.']
    chosen = ['It is the value that was set. ' + text for text in chosen]
    text += page(
        getter,
        'Gets ' + o.says(),
        'Not ',
        ['%s - %s, which must be of type `%s`, else the error is `PETSC_ERR_ARG_WRONG`' % (ksp, WHAT[cls], face)],
        ['%s - see `%s()`' % (a, setter)],
        [],
        o.level,
        chosen,
        [],
        '`%s`, `%s()`' % (face, setter),
    )
    return text + function(face, 'Get', o, '%s *%s' % (o.type, a), a)


def words(rows):
    """The arrays of the words of enums, as PETSc has them"""
    text = f'/* Words of enums, {MADE} */\n'
    for o in rows:
        if o.enum:
            names = ', '.join(f'"{word}"' for word in o.enum.words + [o.type, o.enum.prefix])
            text += fill(f'const char *const {o.limits[0]}[] = {{{names}, NULL}};', '', '  ') + '\n'
    return text


def setters(face, rows):
    top = f'''/*
   Setters and getters of {face}, {MADE}
*/
#include "../../../petsc/baiimpl.h" /*I "petscbai.h" I*/
'''
    return '\n'.join([top] + [setter_and_getter(o, face) for o in rows if o.function and face in o.faces])


def between(path, begin, end, text):
    """The file with what is between two lines replaced"""
    old = read(path)
    if old.count(begin) != 1 or old.count(end) != 1:
        sys.exit('%s: must have the lines %s and %s once' % (path, begin.strip(), end.strip()))
    return old[: old.index(begin) + len(begin)] + text + old[old.index(end) :]


def prototypes(rows):
    text = '\n'.join('PETSC_EXTERN const char *const %s[];' % o.limits[0] for o in rows if o.enum) + '\n'
    for face in FACES:
        text += '\n'
        for o in rows:
            if o.function and face in o.faces:
                cls = class_of(face)
                text += f'PETSC_EXTERN PetscErrorCode {face}Set{o.function}({cls}, {o.type});\n'
                if o.has_getter:
                    text += f'PETSC_EXTERN PetscErrorCode {face}Get{o.function}({cls}, {o.type} *);\n'
    return between(HEADER, '/* %s */\n' % MADE, '/* end of what is made */\n', text)


def main_page(face, rows):
    """The page of the KSP or PC: its keys, and those of its functions that set them"""
    rows = [o for o in rows if face in o.faces]
    setters = {o.field: '`%sSet%s()`' % (face, o.function) for o in rows if o.function}
    keys = bullets(align([(o.typed(face), ', '.join(filter(None, [o.text, setters.get(o.field)]))) for o in rows]))
    text = re.sub(
        r'(   Options Database Keys:\n).*?\n\n',
        lambda m: m.group(1) + keys + '\n\n',
        read(PAGES[face]),
        count=1,
        flags=re.S,
    )
    start = text.index('.seealso:')
    end = text.index('M*/', start)
    others = [name for name in re.findall(r'`[^`]*`', text[start:end]) if name not in setters.values()]
    see = fill(', '.join(others + list(setters.values())), '.seealso: ', '          ')
    return text[:start] + see + '\n' + text[end:]


def types(rows):
    """The keys in the pages of the enums"""
    text = read(TYPES)
    for o in rows:
        if o.enum:
            keys = bullets(align([(o.typed(face), 'sets it') for face in o.faces]))
            text = re.sub(
                r'(   %s - (?:(?!\*/).)*?   )Options? Database Keys?:\n.*?\n\n' % o.type,
                lambda m: '%sOptions Database Key%s:\n%s\n\n' % (m.group(1), 's' * (len(o.faces) > 1), keys),
                text,
                flags=re.S,
            )
    return text


def in_words(text, rows):
    """Values of enums as users type them"""
    for o in rows:
        for pair in zip(o.enum.constants, o.enum.words) if o.enum else ():
            text = text.replace('`%s`' % pair[0], '`%s`' % pair[1])
    return text


def section(o):
    return o.field if 'PCBAIMG' not in o.faces else o.key('PCBAIMG')[1:]


def manual(users, research, levels):
    rows = users + research + levels
    intro = f'''<!-- {MADE} -->
# Options

For all users: the options of `-ksp_type bai`, `-pc_type bai` and `-pc_type baimg`. The prefix of a solver goes in front
of a key, as in `-mg_levels_pc_bai_mode`. Options for users have setters and getters in C.

`-ksp_type bai` has two methods, [krylov and relaxation](#method). An option of one of them selects it and is an error
with the other one.

A value out of range is an error that names the option, the value and the range, and changes nothing. Getters return the
value that was set, but `KSPBAIGetMethod()` the method that runs; the view shows the value that was chosen for 0 or
auto. Setters ignore a `KSP` or `PC` of another type; getters report an error.'''
    parts = [intro] + [
        what + ': ' + ' · '.join(f'[{o.field}](#{section(o)})' for o in part)
        for what, part in (
            ('For users', users),
            ('For research and tuning', research),
            ('Of `-pc_type baimg`', levels),
        )
    ]
    for o in rows:
        parts.append('## ' + section(o))
        parts.append(', '.join('`%s`' % o.key(face) for face in o.faces) + ': ' + o.text + '.')
        facts = []
        if not o.enum:
            facts.append('* values: ' + o.range_in(1))
        facts.append('* default: ' + o.defaults())
        if 'KSPBAI' in o.faces:
            facts.append('* method of the KSP: ' + METHODS[o.method])
        if o.function:
            facts.append(
                '* in C: '
                + ', '.join('`%s%s%s()`' % (face, what, o.function) for face in o.faces for what in ('Set', 'Get'))
            )
        parts.append('\n'.join(facts))
        if o.enum:
            parts.append('Its values:')
            parts.append('\n'.join(fill('`%s`: %s' % pair, '* ', '  ') for pair in zip(o.enum.words, o.enum.meanings)))
        notes, references = o.notes(None)
        parts += [fill(in_words(note, rows), '') for note in notes]
        if references:
            parts.append('\n'.join([references[0], ''] + [fill(text, '* ', '  ') for text in references[1:]]))
    return '\n\n'.join(parts) + '\n'


def main():
    users, research, levels = options(DEF), options(RESEARCH), options(LEVELS)
    rows = users + research + levels
    files = {HEADER: prototypes(rows), TYPES: types(rows), WORDS: words(rows)}
    files[MANUAL] = manual(users, research, levels)
    for face in FACES:
        files[SETTERS[face]] = setters(face, rows)
        files[PAGES[face]] = main_page(face, rows)
    stale = []
    for path, text in sorted(files.items()):
        same = os.path.exists(path) and read(path) == text
        if not same:
            stale.append(path)
        if CHECK:
            print(
                '%sok options-%s%s'
                % ('' if same else 'not ', path, '' if same else ' # is not what %s says: make options' % DEF)
            )
        elif not same:
            with open(path, 'w', encoding='utf-8') as f:
                f.write(text)
            print(path)
    return int(CHECK and bool(stale))


sys.exit(main())
