// Texts (a JSON list on standard input) to tokens [start, end, scopes] of each, by VS Code's own TextMate engine.
// node tokenize.js NODE_MODULES GRAMMAR < texts.json
const fs = require("fs");
const path = require("path");

const [modules, grammarPath] = process.argv.slice(2);
const oniguruma = require(path.join(modules, "vscode-oniguruma"));
const textmate = require(path.join(modules, "vscode-textmate"));

async function main() {
  const wasm = fs.readFileSync(path.join(modules, "vscode-oniguruma/release/onig.wasm")).buffer;
  await oniguruma.loadWASM(wasm);
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(fs.readFileSync(grammarPath, "utf8"), grammarPath),
  });
  const grammar = await registry.loadGrammar("source.cepheid");
  const texts = JSON.parse(fs.readFileSync(0, "utf8"));
  process.stdout.write(JSON.stringify(texts.map((text) => tokens(grammar, text))));
}

function tokens(grammar, text) {
  const found = [];
  let state = textmate.INITIAL;
  let offset = 0;
  for (const line of text.split("\n")) {
    const read = grammar.tokenizeLine(line, state);
    for (const token of read.tokens) {
      found.push([offset + token.startIndex, offset + Math.min(token.endIndex, line.length), token.scopes]);
    }
    state = read.ruleStack;
    offset += line.length + 1;
  }
  return found;
}

main();
