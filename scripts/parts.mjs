// A program in parts, each with compiled code of its own: what a command does not use it neither reads nor creates
// (docs/decisions/0084). Every module is in one part alone, so that there is one of each class and of whatever a module remembers.
//
// A part is a table of functions that give its modules. Other parts get at them by `require("slipway:PART:MODULE")`, which loads the
// part (bin/slipway.cjs).
import { createHash } from "node:crypto";
import { relative } from "node:path";
import { build } from "esbuild";

/** Of the table at the start of the file, which bin/slipway.cjs reads first. */
const tableLength = 1024;

/**
 * Bundles a program: the text of the file that has all parts, and esbuild's graph. `parts` are the modules, or folders of them, that each
 * part begins with, by its name: it has those, all that they cannot be loaded without, and nothing of what parts before it have. The last one
 * has in addition whatever else the program reaches.
 */
export async function buildParts(entry, parts, options) {
  const outdir = options.absWorkingDir;
  const { metafile } = await build({ ...options, entryPoints: [entry], outdir });
  const modules = metafile.inputs;
  const partOf = partsOf(modules, parts);
  const crossing = edgesOf(modules).filter(({ from, to }) => partOf.has(to) && partOf.get(from) !== partOf.get(to));
  const names = await namesOf(
    crossing.filter((edge) => isCopied(edge, modules)).map(({ to }) => to),
    options,
    outdir,
  );
  const targets = new Map(crossing.map(({ from, word, to }) => [`${from} ${word}`, to]));
  const given = new Set([entry, ...crossing.map(({ to }) => to)]);
  const texts = await Promise.all(
    Object.keys(parts).map(async (part) => {
      const { outputFiles } = await build({
        ...options,
        stdin: {
          contents: tableOf([...given].filter((path) => partOf.get(path) === part)),
          resolveDir: options.absWorkingDir,
        },
        outfile: `${outdir}/${part}.cjs`,
        plugins: [
          ...options.plugins,
          otherParts(part, { modules, partOf, targets, names, root: options.absWorkingDir }),
        ],
      });
      return [part, asFunction(outputFiles[0].text)];
    }),
  );
  return { text: joined(texts), metafile };
}

/** One file, which is replaced as one: a program that starts meanwhile has all its parts of the same build. */
function joined(texts) {
  const table = {};
  let at = tableLength;
  for (const [part, text] of texts) {
    const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
    table[part] = { hash, at, length: text.length };
    at += text.length;
  }
  const head = `${JSON.stringify(table)}\n`;
  if (head.length > tableLength) throw new Error(`the table of parts is longer than ${tableLength} bytes`);
  return head.padEnd(tableLength) + texts.map(([, text]) => text).join("");
}

/** What bin/slipway.cjs runs: a function of `require` and `__dirname` that returns a table. Plain ASCII, so that lengths are those of bytes. */
function asFunction(text) {
  // esbuild escapes what is not ASCII everywhere but in regular expressions.
  const ascii = text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return `(function(require,__dirname){"use strict";const module={};${ascii}\nreturn module.exports})\n`;
}

/** What is loaded on use does not belong to who uses it. Stubs of lazy modules are in every part that has a use for them. */
const isLate = (from, kind) => kind === "dynamic-import" || from.startsWith("lazy:");

/** Exports of a module that has been loaded before are copied: using one is then no more than using a variable. */
const isCopied = ({ from, to, kind }, modules) =>
  kind === "import-statement" && !isLate(from, kind) && modules[to].format === "esm";

const edgesOf = (modules) =>
  Object.entries(modules).flatMap(([from, { imports }]) =>
    imports.map(({ path, kind, original }) => ({ from, to: path, kind, word: original })),
  );

/** Whether a module is the one that is named, or in the folder. Packages may be elsewhere: behind a symbolic link esbuild tells the real path. */
const isAt = (path, name) =>
  path === name ||
  (name.endsWith("/") && path.startsWith(name)) ||
  (name.startsWith("node_modules/") && path.endsWith(`/${name}`));

/** The part that each module is in. */
function partsOf(modules, parts) {
  const partOf = new Map();
  const names = Object.keys(parts);
  const put = (path, part) => {
    if (partOf.has(path) || modules[path] === undefined || path.startsWith("lazy:")) return;
    partOf.set(path, part);
    for (const { path: needed, kind } of modules[path].imports) if (!isLate(path, kind)) put(needed, part);
  };
  for (const part of names)
    for (const first of parts[part]) {
      const found = Object.keys(modules).filter((path) => isAt(path, first));
      if (found.length === 0) throw new Error(`part ${part} begins with ${first}, which is not in the program`);
      for (const path of found) put(path, part);
    }
  for (const path of Object.keys(modules)) put(path, names.at(-1));
  return partOf;
}

/** The names that modules export, those included that they only pass on. */
async function namesOf(paths, options, outdir) {
  const { metafile } = await build({
    ...options,
    entryPoints: [...new Set(paths)],
    format: "esm",
    splitting: true,
    outdir,
  });
  return new Map(Object.values(metafile.outputs).map(({ entryPoint, exports }) => [entryPoint, exports]));
}

const tableOf = (paths) =>
  `module.exports = {${paths.map((path) => `${JSON.stringify(path)}: () => require(${JSON.stringify(`./${path}`)})`).join(",\n")}};`;

/** An esbuild plugin: what other parts have is required from them. */
const otherParts = (part, { modules, partOf, targets, names, root }) => ({
  name: "other-parts",
  setup(program) {
    program.onResolve({ filter: /.*/ }, ({ path: word, importer, namespace, kind }) => {
      if (namespace === "copied") return { path: word, external: true };
      const from = namespace === "file" ? relative(root, importer) : `${namespace}:${importer}`;
      const to = targets.get(`${from} ${word}`);
      if (to === undefined || partOf.get(to) === part) return undefined;
      return isCopied({ from, to, kind }, modules)
        ? { path: to, namespace: "copied" }
        : { path: `slipway:${partOf.get(to)}:${to}`, external: true };
    });
    program.onLoad({ filter: /.*/, namespace: "copied" }, ({ path }) => ({
      contents: `export const { ${names.get(path).join(", ")} } = require("slipway:${partOf.get(path)}:${path}");`,
      loader: "js",
    }));
  },
});
