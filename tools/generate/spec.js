// A .ksy as the compiler wants it, and the way back from its messages to a line of the file.
'use strict';

const fs = require('fs');
const path = require('path');
const YAML = require('yaml');

const INT31 = 2n ** 31n;

/** Plain data of a YAML node. Integers that a JS number or the compiler would mangle become strings, which are expressions. */
function plain(node) {
  if (YAML.isMap(node)) return Object.fromEntries(node.items.map(({ key, value }) => [String(plain(key)), value ? plain(value) : null]));
  if (YAML.isSeq(node)) return node.items.map(plain);
  if (typeof node.value !== 'bigint') return node.value;
  return node.value < INT31 && node.value >= -INT31 ? Number(node.value) : String(node.value);
}

class Spec {
  constructor(file) {
    this.file = file;
    this.lines = new YAML.LineCounter();
    this.document = YAML.parseDocument(fs.readFileSync(file, 'utf8'), { intAsBigInt: true, lineCounter: this.lines });
    const [error] = this.document.errors;
    if (error) throw new Error(`${file}:${error.linePos[0].line}:${error.linePos[0].col}: ${error.message.split('\n')[0]}`);
  }

  get id() {
    return path.basename(this.file, '.ksy');
  }

  get data() {
    return plain(this.document.contents);
  }

  /** `file:line:column` of a path such as /seq/1/size; the nearest ancestor where the path names nothing. */
  place(specPath) {
    const keys = specPath.split('/').filter(Boolean).map((key) => (/^\d+$/.test(key) ? Number(key) : key));
    for (; keys.length; keys.pop()) {
      const node = this.document.getIn(keys, true);
      if (node && node.range) {
        const { line, col } = this.lines.linePos(node.range[0]);
        return `${this.file}:${line}:${col}`;
      }
    }
    return `${this.file}:1:1`;
  }
}

/**
 * Drop the instances marked `-overlay: true` at every level. They give bytes of the sequence a
 * second name (what a checksum covers); a read-write build would write that copy back over them.
 */
function withoutOverlays(node) {
  if (Array.isArray(node)) return node.map(withoutOverlays);
  if (node === null || typeof node !== 'object') return node;
  const kept = Object.entries(node).map(([key, value]) => {
    const isInstances = key === 'instances' && value && typeof value === 'object';
    return [key, withoutOverlays(isInstances ? Object.fromEntries(Object.entries(value).filter(([, it]) => !it['-overlay'])) : value)];
  });
  return Object.fromEntries(kept);
}

module.exports = { Spec, withoutOverlays };
