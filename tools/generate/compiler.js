// The npm build of kaitai-struct-compiler 0.11.0, with the options its API does not offer.
//
// compile(lang, yamlObject, importer, debug) passes literals for everything but `debug` to the
// compiler. The read-write build and the Python package name are in there all the same, so the one
// call site is rewritten in memory before the module is evaluated. Its output has been compared
// with the JVM compiler's: byte for byte the same.
'use strict';

const fs = require('fs');
const vm = require('vm');

const CALL = /new \$c_Lio_kaitai_struct_RuntimeConfig\(\(!debug\), debug, false, true, false, .*\)/;
const PROBLEMS = 'var problems = $as_sc_Iterable(problems$2);';
// The API computes style warnings and drops them; keep them for the caller.
const KEEP_PROBLEMS = PROBLEMS + `
  globalThis.kaitaiProblems = [];
  for (var it = problems.iterator__sc_Iterator(); it.hasNext__Z();) globalThis.kaitaiProblems.push(it.next__O().message__T());`;

function replaceOnce(text, from, to) {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error('this build of kaitai-struct-compiler is not the one this driver was written for');
  return parts.join(to);
}

/** The compiler's `compile`, set up for Python: `positions` makes it store where each field lies, as `readWrite` does. */
function loadCompiler({ readWrite, positions = readWrite, pythonPackage }) {
  const file = require.resolve('kaitai-struct-compiler');
  let source = fs.readFileSync(file, 'utf8');
  const [call] = source.match(CALL) || [];
  // Positional: autoRead, readStoresPos, opaqueTypes, zeroCopySubstream, readWrite, ..., pythonPackage.
  // `-w` of the JVM tool sets autoRead and zeroCopySubstream to false, `--debug` autoRead.
  const configured = replaceOnce(
    replaceOnce(call || '', '(!debug), debug, false, true, false,',
      `${!positions}, ${positions}, false, ${!readWrite}, ${readWrite},`),
    '"Kaitai", "", "",', `"Kaitai", "", ${JSON.stringify(pythonPackage)},`);
  source = replaceOnce(replaceOnce(source, call, configured), PROBLEMS, KEEP_PROBLEMS);
  const module = { exports: {} };
  vm.runInThisContext(`(function(module, exports, self) {${source}\n})`, { filename: file })(module, module.exports, undefined);
  return async (spec, importer) => {
    const files = await module.exports.compile('python', spec, importer, false);
    return { files, warnings: globalThis.kaitaiProblems };
  };
}

module.exports = { loadCompiler };
