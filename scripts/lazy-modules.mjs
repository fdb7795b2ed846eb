// An esbuild plugin: modules that are loaded when something of theirs is first used, not when the module that imports them is.
// For modules without effects of their own, which few commands use and which take milliseconds to load (docs/decisions/0004).

import { readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Modules whose members are looked up when they are used: those of these names, and files of ours whose path matches. A class of theirs that
 * is extended is used at once.
 */
export function lazyModules(names, files) {
  const filter = new RegExp(`^(?:${names.join("|")})$`);
  return {
    name: "lazy-modules",
    setup(build) {
      build.onResolve({ filter }, ({ path, namespace, kind }) =>
        namespace === "lazy" || kind === "dynamic-import" ? undefined : { path, namespace: "lazy" },
      );
      build.onResolve({ filter: files }, ({ path, namespace, resolveDir }) =>
        namespace === "lazy" || resolveDir.includes("node_modules")
          ? undefined
          : { path: join(resolveDir, path), namespace: "lazy" },
      );
      build.onLoad({ filter: /.*/, namespace: "lazy" }, async ({ path }) => ({
        contents: stub(path, files.test(path) ? await exportsOf(path) : await namesOf(path)),
        loader: "js",
        resolveDir: import.meta.dirname,
      }));
    },
  };
}

/** The exports of a package or a module of Node. From Node 23 on those of CommonJS include "module.exports", which is no name. */
const namesOf = async (path) => Object.keys(await import(path)).filter((name) => /^[\w$]+$/.test(name));

/** The exports of a generated file, which Node cannot load without a bundler. */
const exportsOf = async (path) =>
  Array.from((await readFile(path, "utf8")).matchAll(/^export const (\w+)/gm), ([, name]) => name);

const stub = (path, members) => (members.join() === "default" ? functionStub(path) : moduleStub(path, members));

/** The members of a module, and of one of Node's the module itself, which is what `import name from "node:…"` names. */
const moduleStub = (path, members) => `
let loaded;
const load = () => (loaded ??= require(${JSON.stringify(path)}));
module.exports = { __esModule: true, ${members.map((name) => `get ${name}() { return ${memberOf(path, name)}; }`).join(", ")} };
`;

const memberOf = (path, name) => (name === "default" && path.startsWith("node:") ? "load()" : `load().${name}`);

/** A package that is one function. A stub with a getter would not do: importers that are modules take all of a CommonJS file as its default. */
const functionStub = (path) => `
let loaded;
export default (...given) => (loaded ??= require(${JSON.stringify(path)}).default)(...given);
`;
