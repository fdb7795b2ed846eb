// An esbuild plugin: modules that are loaded when something of theirs is first used, not when the module that imports them is.
// For modules without effects of their own, which few commands use and which take milliseconds to load (docs/decisions/0004).

/** Modules whose members are looked up when they are used. A class of theirs that is extended is used at once. */
export function lazyModules(names) {
  const filter = new RegExp(`^(?:${names.join("|")})$`);
  return {
    name: "lazy-modules",
    setup(build) {
      build.onResolve({ filter }, ({ path, namespace, kind }) =>
        namespace === "lazy" || kind === "dynamic-import" ? undefined : { path, namespace: "lazy" },
      );
      build.onLoad({ filter: /.*/, namespace: "lazy" }, async ({ path }) => ({
        contents: stub(path, Object.keys(await import(path))),
        loader: "js",
        resolveDir: import.meta.dirname,
      }));
    },
  };
}

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
