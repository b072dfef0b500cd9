// Compile all specs of a folder in one process: node ksc.js SCHEMAS FOLDER…
// What is made is named by the folder: parsers, structures (read-write), traced (plain, with field positions).
// Warnings and errors go to stderr as file:line:column; any error makes the exit status 1.
'use strict';

const fs = require('fs');
const path = require('path');
const { loadCompiler } = require('./compiler.js');
const { Spec, withoutOverlays } = require('./spec.js');

const [schemas, ...folders] = process.argv.slice(2);

const KINDS = {
  parsers: { readWrite: false, prepare: (data) => data },
  structures: { readWrite: true, prepare: withoutOverlays },
  traced: { readWrite: false, positions: true, prepare: (data) => data },
};
const BUILDS = folders.map((folder) => ({ folder, ...KINDS[path.basename(folder)] }))
  .map((build) => ({ ...build, compile: loadCompiler({ ...build, pythonPackage: `thawline.generated.${path.basename(build.folder)}` }) }));

function specFiles(folder) {
  return fs.readdirSync(folder, { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? specFiles(path.join(folder, entry.name)) : [path.join(folder, entry.name)]))
    .filter((file) => file.endsWith('.ksy'))
    .sort();
}

/** "kafka_records: /seq/1/size:\n\terror: ..." -> "schemas/kafka_records.ksy:12:11: /seq/1/size: error: ..." */
function located(message, specs, current) {
  const text = message.replace(/:\s*\n\s*/g, ': ').trim();
  const found = text.match(/^(\(main\)|\w+): (\/[^\s:]*)/);
  if (!found) return `${current.file}:1:1: ${text}`;
  const spec = specs.get(found[1]) || current;
  return `${spec.place(found[2])}: ${text.slice(found[1].length + 2)}`;
}

async function compileOne(spec, build, specs) {
  const importer = {
    importYaml: async (name) => {
      const imported = specs.get(path.basename(name));
      if (!imported) throw new Error(`cannot import ${name}`);
      return build.prepare(imported.data);
    },
  };
  const { files, warnings } = await build.compile(build.prepare(spec.data), importer);
  if (!build.readWrite) warnings.forEach((warning) => console.error(located(warning, specs, spec)));
  fs.writeFileSync(path.join(build.folder, `${spec.id}.py`), files[`${spec.id}.py`]);
}

async function main() {
  const specs = new Map();
  for (const file of specFiles(schemas)) {
    try {
      const spec = new Spec(file);
      specs.set(spec.id, spec);
    } catch (error) {
      console.error(error.message);
      process.exitCode = 1;
    }
  }
  for (const spec of specs.values()) {
    for (const build of BUILDS) {
      try {
        await compileOne(spec, build, specs);
      } catch (error) {
        console.error(located(String(error.message || error), specs, spec));
        process.exitCode = 1;
        break;
      }
    }
  }
}

main();
