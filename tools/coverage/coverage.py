#!/usr/bin/env python3
"""Writes docs/coverage.md: what of CUDA this version has, function by function, opcode by opcode.

Nothing is claimed by hand. Functions are the symbols that the built libraries export; refused ones
are those of the two unsupported.def; a runtime function that the driver below refuses is found by
reading which driver functions it calls. Instructions are judged by the compiler itself
(coverage_forms).

  coverage.py SOURCE-DIRECTORY BUILD-DIRECTORY coverage_forms           writes SOURCE-DIRECTORY/docs/coverage.md
  coverage.py SOURCE-DIRECTORY BUILD-DIRECTORY coverage_forms --check   fails when that file says otherwise
"""
import difflib
import glob
import os
import re
import subprocess
import sys

SUFFIX = re.compile(r'_(ptsz|ptds)$')
VERSION = re.compile(r'_v\d+$')

# Families of functions, in the page's order: the first pattern that fits the name without its
# prefix (cuda, cu) decides.
FAMILIES = [
    ('Registration, for compilers', r'^__'),
    ('Graphs and capture', r'Graph|UserObject|BeginCapture|EndCapture|CaptureDependencies|'
                           r'CaptureMode|IsCapturing|CaptureInfo|ConditionalHandle'),
    ('Graphics and video', r'EGL|GL[A-Z]|VDPAU|VDPAU|Graphics|D3D|NvSci'),
    ('External memory and semaphores', r'External|FlushGPUDirect'),
    ('Interprocess', r'^Ipc'),
    ('Stream-ordered allocator', r'MemPool|Async$.*^$|^MallocAsync|^FreeAsync|^MallocFromPool|'
                                 r'^MemAllocAsync|^MemFreeAsync|^MemAllocFromPool'),
    ('Virtual memory and multicast', r'^MemAddress|^MemCreate|^MemMap|^MemUnmap|^MemRelease|'
                                     r'^MemSetAccess|^MemGetAccess|^MemExport|^MemImport|^Multicast|'
                                     r'^MemGetAllocation|^MemRetain|^MemGetHandleFor|Decompress'),
    ('Green contexts', r'GreenCtx|DevResource|SmResource'),
    ('Texture references', r'TexRef|SurfRef'),
    ('Textures and surfaces', r'Tex|Surf|TensorMap'),
    ('Arrays', r'Array|ChannelDesc'),
    ('Libraries, modules and linking', r'^Library|^Module|^Link|^Kernel|GetKernel|^GetSymbol|^GetFuncBySymbol'),
    ('Launches and kernels', r'Launch|^Func|Occupancy|^Param|CallConfiguration'),
    ('Events', r'^Event|RecordEvent|WaitEvent'),
    ('Streams', r'^Stream|HostFunc'),
    ('Copies and sets', r'[Mm]emcpy|[Mm]emset|Batch'),
    ('Memory', r'^M|^Host|^Free|^Pointer|Prefetch|^Mem'),
    ('Peers', r'Peer|P2P'),
    ('Devices', r'^Device|^GetDevice|^SetDevice|^ChooseDevice|^SetValidDevices|^InitDevice|^Init$'),
    ('Contexts', r'^Ctx|^ThreadExchange'),
    ('Profiler, logs, checkpoints', r'Profiler|Logs|Coredump|Checkpoint'),
    ('Errors, versions and entry points', r''),
]

PTX_FAMILIES = {
    'INT': 'Integer arithmetic', 'FLOAT': 'Floating point', 'CMP': 'Comparison and selection',
    'LOGIC': 'Logic and shifts', 'MOVE': 'Movement', 'CONVERT': 'Conversion and addresses',
    'MEMORY': 'Memory', 'ASYNC': 'Asynchronous copies', 'ATOMIC': 'Atomics',
    'SYNC': 'Barriers and fences', 'WARP': 'Across a warp', 'CONTROL': 'Control flow',
    'VIDEO': 'Video', 'MATRIX': 'Matrices', 'TEXTURE': 'Textures and surfaces', 'STACK': 'Stack',
    'MISC': 'Miscellaneous', 'HALF': 'Half precision',
}


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def exported(library):
    """The functions that a shared library exports, without versions of symbols."""
    lines = subprocess.run(['nm', '-D', '--defined-only', library], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    names = {line.split()[2].split('@')[0] for line in lines if line.split()[1] == 'T'}
    return {name for name in names if re.match(r'(__cuda|cuda|cu[A-Z])', name)}


def refused(path):
    """The names in an unsupported.def."""
    text = read(path)
    names = set(re.findall(r'^(?:(?:RT_)?UNSUPPORTED|UNDECLARED|REFUSED)\((\w+)', text, re.M))
    both = set(re.findall(r'^UNSUPPORTED_PTSZ\((\w+)', text, re.M))
    return names | both | {name + '_ptsz' for name in both}


def bodies(source):
    """Function definitions of a C file: name -> text. They begin and end at the left margin."""
    found = {}
    pattern = re.compile(r'^(?:[A-Z]+_API\((\w+),|[A-Za-z_][\w \t*]*?[ *](\w+)\()', re.M)
    for match in pattern.finditer(source):
        name = match.group(1) or match.group(2)
        if match.group(1):  # STREAM_API(name, ...) and its kin: up to the next empty line
            end = source.find('\n\n', match.start())
            end = len(source) if end < 0 else end
        else:
            brace = source.find('{', match.end())
            semicolon = source.find(';', match.end())
            if brace < 0 or 0 <= semicolon < brace:
                continue
            line_end = source.find('\n', brace)
            end = line_end if source[brace:line_end].rstrip().endswith('}') else \
                source.find('\n}', brace)
        found[name] = source[match.start():end]
    return found


def passed_on(directory, driver_refuses):
    """Runtime functions that come to nothing because the driver refuses a call they make."""
    result = {}
    for path in sorted(glob.glob(os.path.join(directory, '**', '*.c'), recursive=True)):
        functions = bodies(read(path))

        def calls(name, seen):
            if name in seen or name not in functions:
                return set()
            seen.add(name)
            words = set(re.findall(r'\w+', functions[name]))
            direct = {word for word in words if word in driver_refuses}
            for word in words & set(functions) - {name}:
                direct |= calls(word, seen)
            return direct

        for name in functions:
            if re.match(r'(__)?cuda[A-Z]', name):
                below = calls(name, set())
                if below:
                    result[name] = sorted(below)[0]
    return result


def family(name):
    plain = name if name.startswith('__') else re.sub(r'^(cuda|cu)', '', name)
    return next(title for title, pattern in FAMILIES if re.search(pattern, plain))


def functions_section(out, names, refusals, below):
    """One table: per family what works, what is refused."""
    plain = {}
    for name in names:
        plain.setdefault(SUFFIX.sub('', name), set()).add(name)
    table = {title: ([], []) for title, _ in FAMILIES}
    for name in sorted(plain):
        if name in refusals:
            text = f'`{name}`'
            table[family(name)][1].append(text)
        elif name in below:
            table[family(name)][1].append(f'`{name}`')
        else:
            table[family(name)][0].append(f'`{name}`')
    done = sum(len(works) for works, _ in table.values())
    out.append(f'{done} of {len(plain)} functions work; the forms for per-thread default streams '
               '(`_ptsz`, `_ptds`) are not counted twice.\n')
    out.append('| family | works | refused |\n| --- | --- | --- |')
    for title, (works, refuses) in table.items():
        if works or refuses:
            out.append(f'| {title} | {", ".join(works) or "–"} | {", ".join(refuses) or "–"} |')
    out.append('')


def instructions_section(out, forms):
    lines = subprocess.run([forms], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split('\t') for line in lines]
    count = {state: sum(row[3] == state for row in rows) for state in ('all', 'some', 'none')}
    out.append(f'Of {len(rows)} opcodes {count["all"]} are compiled in all their forms, '
               f'{count["some"]} in some, {count["none"]} are refused.\n')
    for key in dict.fromkeys(row[0] for row in rows):
        out.append(f'### {PTX_FAMILIES[key]}\n')
        out.append('| opcode | what it does | compiled |\n| --- | --- | --- |')
        for _, opcode, meaning, state, but in (row for row in rows if row[0] == key):
            word = {'all': 'yes', 'none': '**no**', 'some': f'yes, except: {but}'}[state]
            out.append(f'| `{opcode}` | {meaning} | {word} |')
        out.append('')


def page(source, build, forms):
    driver_refuses = refused(os.path.join(source, 'src/driver/names/unsupported.def'))
    runtime_refuses = refused(os.path.join(source, 'src/runtime/unsupported.def'))
    below = passed_on(os.path.join(source, 'src/runtime'), driver_refuses)
    out = ['# What there is and what is refused\n',
           '<!-- Written by `make coverage` from the code; edit tools/coverage instead. -->\n',
           'A function that is refused exists, and returns `cudaErrorNotSupported` or '
           '`CUDA_ERROR_NOT_SUPPORTED` when it is called. A module with an instruction that is '
           'refused is not loaded, and the message names the line and the instruction. What works '
           'otherwise than on a GPU is in [differences.md](differences.md).\n',
           '## Runtime API\n']
    functions_section(out, exported(os.path.join(build, 'lib/libcudart.so.13')), runtime_refuses,
                      below)
    out.append('## Driver API\n')
    functions_section(out, exported(os.path.join(build, 'lib/libcuda.so.1')), driver_refuses, {})
    out.append('## PTX\n')
    instructions_section(out, forms)
    return '\n'.join(out).rstrip() + '\n'


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    source, build, forms = sys.argv[1:4]
    path = os.path.join(source, 'docs/coverage.md')
    text = page(source, build, forms)
    if sys.argv[4:] != ['--check']:
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return
    have = read(path) if os.path.exists(path) else ''
    if have != text:
        diff = difflib.unified_diff(have.splitlines(), text.splitlines(), 'docs/coverage.md',
                                    'what the code says', lineterm='', n=0)
        for line in diff:
            print(line[:400])
        print('docs/coverage.md is stale: run `make coverage` and commit the file')
        sys.exit(1)
    print('docs/coverage.md says what the code does')


if __name__ == '__main__':
    main()
