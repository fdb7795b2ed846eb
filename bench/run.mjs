// Bundles the benchmarks, brings dist/ up to date, and runs them.
//   node bench/run.mjs --help
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { bundle } from "../scripts/build.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
await bundle();
await mkdir(`${here}.run`, { recursive: true });
// Below the repository, so that the bundle finds lmdb in its node_modules.
const outdir = await mkdtemp(`${here}.run/build-`);
await build({
  absWorkingDir: here,
  entryPoints: ["main.ts", "worker.ts"],
  outdir,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  // grpc-js is no module of ours to bundle: imported when it is needed, it would have no names.
  external: ["lmdb", "@grpc/grpc-js"],
  sourcemap: process.argv.includes("--profile") ? "linked" : false,
  banner: {
    js: 'import{createRequire as __benchRequire}from"node:module";const require=__benchRequire(import.meta.url);',
  },
  logLevel: "warning",
});
const child = spawn(process.execPath, ["--enable-source-maps", `${outdir}/main.mjs`, ...process.argv.slice(2)], {
  stdio: "inherit",
  env: {
    ...process.env,
    SLIPWAY_BENCH: here,
    ...(process.argv.includes("--smoke") ? { SLIPWAY_BENCH_SMOKE: "1" } : {}),
  },
});
// The child gets the terminal's signals too and cleans up; this process only waits for it.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
child.on("close", async (code) => {
  await rm(outdir, { recursive: true, force: true });
  process.exitCode = code ?? 1;
});
