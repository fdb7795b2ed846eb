// Bundles the sources into dist/: programs as CommonJS that V8 can keep compiled, the command line in parts, and the library's entries as
// modules. Rebuilds only what is older than its sources.
//   node scripts/build.mjs [--force]     also keeps the compiled code of the commands people wait for
import { execFile } from "node:child_process";
import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { apartModules, buildApart } from "./apart-modules.mjs";
import { lazyModules } from "./lazy-modules.mjs";
import { buildParts } from "./parts.mjs";
import { cli, parts } from "./program-parts.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const dist = `${root}dist`;
const stampFile = `${dist}/.built`;

const builders = ["build", "apart-modules", "lazy-modules", "parts", "program-parts"].map(
  (name) => `${root}scripts/${name}.mjs`,
);

const programs = {
  runner: "src/kernel/runtimes/process/runner/main.ts",
  "yaml-reader": "src/kernel/apiserver/http/yaml-reader-program.ts",
  "template-thread": "src/kernel/template/thread-program.ts",
};

/** The template module, as scripts/build-template.mjs has built it, and the licences of what is in it. */
const templateFiles = ["template.wasm.br", "template-licenses.txt"];

/** The library's public entries. */
const library = {
  engine: "src/engine/index.ts",
  kit: "src/kernel/kit/index.ts",
};

/** What every bundle has in common. Names are not minified, so errors and profiles show them. */
export const common = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  target: "node20.19",
  external: ["lmdb"],
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  metafile: true,
  write: false,
  logLevel: "warning",
};

/** Used by few commands, and large. */
const apart = ["@bomb.sh/tab", "@grpc/grpc-js", "@peculiar/x509", "pino", "prom-client"];

/** Used late or never, and slow to load. */
const lazy = [
  "node:child_process",
  "node:crypto",
  "node:http",
  "node:https",
  "node:perf_hooks",
  "node:tls",
  "node:worker_threads",
  "node:zlib",
  "@bufbuild/protobuf",
  "@bufbuild/protobuf/wkt",
  "@marcbachmann/cel-js",
  "@marcbachmann/cel-js/evaluator",
  "re2js",
  "string-width",
  "js-yaml",
  "tar-stream",
  "ws",
  "yaml",
];

/** Messages of gRPC: their descriptors are decoded when the file is loaded. */
const lazyFiles = /_pb\.js$/;

/** esbuild's options for a program: what is imported on use stays asleep inside the file until then. */
export const programOptions = (version) => ({
  ...common,
  format: "cjs",
  // What V8 kept compiled has no hook for import(); require loads whatever is left outside the bundle.
  supported: { "dynamic-import": false },
  define: {
    SLIPWAY_VERSION: JSON.stringify(version),
    "import.meta.dirname": "__dirname",
    // Node loads eight modules at the first touch of `performance`.
    "performance.now": "__monotonic",
  },
  banner: { js: "const __monotonic=()=>{const[s,n]=process.hrtime();return s*1e3+n/1e6};" },
  // `require` is the one of bin/slipway.cjs.
  plugins: [lazyModules(lazy, lazyFiles), apartModules(apart, "../dist")],
});

async function newestSource() {
  const listed = await readdir(`${root}src`, { recursive: true, withFileTypes: true });
  const paths = listed
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
    .map((entry) => `${entry.parentPath}/${entry.name}`);
  const times = await Promise.all(
    [...paths, `${root}package.json`, `${root}go/built/template.json`, ...builders].map(
      async (path) => (await stat(path)).mtimeMs,
    ),
  );
  return `${Math.max(...times)} ${paths.length}`;
}

/** Brings dist/ up to date; returns true when something was built. `onBuild` is called before. */
export async function bundle({ force = false, onBuild = () => undefined } = {}) {
  const stamp = await newestSource();
  if (!force && (await readFile(stampFile, "utf8").catch(() => "")) === stamp) return false;
  onBuild();
  const { version } = JSON.parse(await readFile(`${root}package.json`, "utf8"));
  await mkdir(dist, { recursive: true });
  const [program, ...results] = await Promise.all([
    buildParts(cli, parts, programOptions(version)),
    build({
      ...programOptions(version),
      entryPoints: programs,
      outdir: dist,
      outExtension: { ".js": ".cjs" },
    }),
    build({
      ...common,
      // What is CommonJS and asks for modules of Node cannot be part of a module.
      external: [...common.external, "ws"],
      format: "esm",
      entryPoints: library,
      outdir: dist,
      outExtension: { ".js": ".mjs" },
      splitting: true,
      chunkNames: "chunks/[name]-[hash]",
    }),
    ...buildApart(apart, common, dist),
  ]);
  const files = [
    { path: `${dist}/slipway.parts`, text: program.text },
    ...results.flatMap(({ outputFiles }) => outputFiles),
  ];
  await Promise.all(files.map(({ path, text }) => replace(path, text)));
  await Promise.all(
    templateFiles.map(async (name) => replace(`${dist}/${name}`, await readFile(`${root}go/built/${name}`))),
  );
  await removeStale([...files.map(({ path }) => path), ...templateFiles.map((name) => `${dist}/${name}`)]);
  await writeFile(`${dist}/meta.json`, JSON.stringify(program.metafile));
  await writeFile(stampFile, stamp);
  return true;
}

/** A program that starts meanwhile sees the old file or the new one. */
async function replace(path, content) {
  await mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  await writeFile(`${path}.${process.pid}`, content);
  await rename(`${path}.${process.pid}`, path);
}

async function removeStale(wanted) {
  const kept = new Set(["meta.json", ".built", ...wanted.map((path) => path.slice(dist.length + 1))]);
  const present = await readdir(dist, { recursive: true, withFileTypes: true });
  const files = present.filter((entry) => entry.isFile()).map((entry) => `${entry.parentPath}/${entry.name}`);
  await Promise.all(
    files.filter((file) => !kept.has(file.slice(dist.length + 1))).map((file) => rm(file, { force: true })),
  );
}

/** Lets commands run once and keeps what they compiled beside the bundle, for this Node.js. */
async function keepCompiled() {
  const code = `${dist}/slipway-code`;
  await rm(code, { recursive: true, force: true });
  const env = { PATH: process.env.PATH, XDG_CACHE_HOME: dist };
  const commands = [["help"], ["version"], ["run", "--ephemeral", "examples/workflow/hello.yaml"]];
  const run = promisify(execFile);
  for (const args of commands) await run(process.execPath, ["bin/slipway.cjs", ...args], { cwd: root, env });
  const build = [
    "run",
    "--runtime",
    "host",
    "--build-id",
    "1",
    "--results-dir",
    `${dist}/results`,
    "examples/wharf/hello",
  ];
  await run(process.execPath, ["bin/slipway.cjs", ...build], { cwd: root, env: { ...env, TMPDIR: dist } });
  for (const left of ["results", "iver-wharf"]) await rm(`${dist}/${left}`, { recursive: true, force: true });
  await chmod(code, 0o755);
  for (const name of await readdir(code)) await chmod(`${code}/${name}`, 0o644);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const built = await bundle({ force: process.argv.includes("--force") });
  if (built) await keepCompiled();
}
