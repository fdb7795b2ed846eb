// Bundles the web UI into dist/ui/: hashed files, each also compressed, the page that names them, and a manifest for the server.
//   node scripts/build-page.mjs        prints the sizes, without writing anything
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants } from "node:zlib";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const page = "src/app/ui/page";

/** Below this path the server answers with the files. */
const base = "/slipway/";

const types = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8" };

const options = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  platform: "browser",
  format: "esm",
  target: ["es2022", "chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  outdir: "ui",
  entryNames: "assets/[name]-[hash]",
  chunkNames: "assets/[name]-[hash]",
  metafile: true,
  write: false,
  logLevel: "warning",
};

/**
 * Whatever is loaded on demand begins with the frame, which is there already: so everything of the first scripts has the same
 * users, and becomes one file instead of one for each set of views that share something.
 */
const afterFrame = {
  name: "after-frame",
  setup(made) {
    const onDemand = new Set();
    made.onResolve({ filter: /^\./ }, ({ path, kind, resolveDir }) => {
      if (kind === "dynamic-import") onDemand.add(join(resolveDir, path));
    });
    made.onLoad({ filter: /\.tsx?$/ }, async ({ path }) => {
      if (!onDemand.has(path)) return undefined;
      const contents = `import "${join(root, page, "parts/frame.tsx")}";\n${await readFile(path, "utf8")}`;
      return { contents, loader: path.endsWith("x") ? "tsx" : "ts" };
    });
  },
};

/** Names relative to dist/ui, of files of esbuild's. */
const nameOf = (path) => path.slice(path.indexOf("assets/"));

/** The file, and those that it imports at once. */
function withImports(outputs, path, found = new Set()) {
  if (found.has(path)) return found;
  found.add(path);
  for (const { path: next, kind } of outputs[path].imports)
    if (kind === "import-statement") withImports(outputs, next, found);
  return found;
}

const html = (scripts, styles) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Slipway</title>
<link rel="icon" href="data:,">
${styles.map((name) => `<link rel="stylesheet" href="${base}${name}">`).join("\n")}
${scripts
  .slice(1)
  .map((name) => `<link rel="modulepreload" href="${base}${name}">`)
  .join("\n")}
<script type="module" src="${base}${scripts[0]}"></script>
</head>
<body>
<div id="page"><div class="frame"><header class="frame-header"><a class="brand" href="${base}runs">Slipway</a></header></div></div>
<noscript>Slipway's page needs JavaScript. Without it, use the command line: slipway status.</noscript>
</body>
</html>
`;

const compress = promisify(brotliCompress);
/** A little worse than the best, in a tenth of its time. */
const compressed = (contents) => compress(contents, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } });

/**
 * Everything below dist/ui as `{name, contents}`. `manifest.json` is `{page, first, files: {NAME: {type, bytes}}}`: `first` are the
 * scripts that the page loads before its first view, and beside each file is NAME.br.
 */
export async function bundlePage() {
  const worker = await build({ ...options, entryPoints: [`${page}/graph/worker.ts`] });
  const workerName = nameOf(Object.keys(worker.metafile.outputs)[0]);
  const main = await build({
    ...options,
    entryPoints: [`${page}/main.tsx`],
    splitting: true,
    plugins: [afterFrame],
    define: { SLIPWAY_GRAPH_WORKER: JSON.stringify(base + workerName) },
  });
  const { outputs } = main.metafile;
  const entry = Object.keys(outputs).find((path) => outputs[path].entryPoint?.endsWith("main.tsx"));
  const first = [...withImports(outputs, entry)].map(nameOf);
  const styles = Object.keys(outputs)
    .filter((path) => path.endsWith(".css"))
    .map(nameOf);
  const assets = [...worker.outputFiles, ...main.outputFiles].map(({ path, contents }) => ({
    name: nameOf(path),
    contents,
  }));
  const pairs = await Promise.all(
    assets.map(async ({ name, contents }) => [
      { name, contents },
      { name: `${name}.br`, contents: await compressed(contents) },
    ]),
  );
  const files = Object.fromEntries(
    assets.map(({ name, contents }) => [
      name,
      { type: types[name.slice(name.lastIndexOf(".") + 1)], bytes: contents.length },
    ]),
  );
  const manifest = { page: "index.html", first, files };
  return [
    ...pairs.flat(),
    { name: "index.html", contents: html(first, styles) },
    { name: "manifest.json", contents: `${JSON.stringify(manifest, null, 1)}\n` },
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const { name, contents } of await bundlePage()) process.stdout.write(`${contents.length}\t${name}\n`);
