// Builds the template module from go/ into go/built/, which is committed: neither users nor `npm test` need Go.
//   node scripts/build-template.mjs            builds; takes minutes, most of it compression
//   node scripts/build-template.mjs --check    builds in another directory and compares with what is committed
//   node scripts/build-template.mjs --stale    compares the sources with those it was built from; needs no Go
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import { licensesOf } from "./go-licenses.mjs";
import { limitMemory } from "./wasm-memory.mjs";

const sources = fileURLToPath(new URL("../go", import.meta.url));
const built = `${sources}/built`;
const artifact = `${built}/template.wasm.br`;
const manifestFile = `${built}/template.json`;
const licensesFile = `${built}/template-licenses.txt`;

/** The most memory of an instance; `src/kernel/template` tells users of it. */
const memoryMb = 512;

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** What the module is built from: neither tests nor other commands. */
const sourceFiles = () =>
  readdirSync(sources, { recursive: true })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => /\.go$|^go\.(?:mod|sum)$/.test(path) && !/_test\.go$|^cmd\//.test(path))
    .sort();

/** Of names and contents; lines end the same wherever the sources were checked out. */
function hashOfSources() {
  const texts = sourceFiles().map(
    (path) => `${path}\n${readFileSync(`${sources}/${path}`, "utf8").replaceAll("\r\n", "\n")}`,
  );
  return sha256(texts.join("\0"));
}

// Nobody's settings of Go change what is built.
const env = {
  ...process.env,
  GOOS: "wasip1",
  GOARCH: "wasm",
  GOWASM: "",
  GOEXPERIMENT: "",
  GOFLAGS: "-mod=readonly -trimpath -buildvcs=false",
  GOWORK: "off",
  CGO_ENABLED: "0",
};

const goVersion = () => execFileSync("go", ["env", "GOVERSION"], { cwd: sources, env, encoding: "utf8" }).trim();

/** The module's bytes, built from the sources in this directory. */
function build(directory) {
  const out = mkdtempSync(`${tmpdir()}/slipway-template-`);
  try {
    const file = `${out}/template.wasm`;
    const flags = ["-buildmode=c-shared", "-ldflags=-s -w -buildid="];
    execFileSync("go", ["build", ...flags, "-o", file, "."], { cwd: directory, env, stdio: "inherit" });
    return limitMemory(readFileSync(file), memoryMb);
  } finally {
    rmSync(out, { recursive: true });
  }
}

function write() {
  const wasm = build(sources);
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: wasm.length,
  };
  const compressed = brotliCompressSync(wasm, { params });
  const manifest = {
    comment: "made by scripts/build-template.mjs",
    go: goVersion(),
    sources: hashOfSources(),
    wasm: sha256(wasm),
    bytes: wasm.length,
    memoryMb,
  };
  mkdirSync(built, { recursive: true });
  writeFileSync(artifact, compressed);
  writeFileSync(manifestFile, `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(licensesFile, licensesOf(sources, env, manifest.go));
  process.stdout.write(`${artifact}: ${wasm.length} bytes, ${compressed.length} compressed\n`);
}

const readManifest = () => JSON.parse(readFileSync(manifestFile, "utf8"));

/** Why the committed module is not that of these sources; nothing when it is. */
function staleness() {
  const manifest = readManifest();
  if (manifest.sources !== hashOfSources()) return "go/ has changed since the template module was built";
  const wasm = brotliDecompressSync(readFileSync(artifact));
  return manifest.wasm === sha256(wasm) ? undefined : "the template module is not the one of its manifest";
}

/** Why another build differs from the committed one. It is made elsewhere, so that no path of this machine can be part of it. */
function difference() {
  const manifest = readManifest();
  if (goVersion() !== manifest.go) return `the template module was built by ${manifest.go}, here is ${goVersion()}`;
  const elsewhere = mkdtempSync(`${tmpdir()}/slipway-template-elsewhere-`);
  try {
    for (const path of sourceFiles()) cpSync(`${sources}/${path}`, `${elsewhere}/${path}`);
    if (sha256(build(elsewhere)) !== manifest.wasm) return "these sources build another template module";
    const licenses = licensesOf(elsewhere, env, manifest.go);
    return licenses === readFileSync(licensesFile, "utf8") ? undefined : "the licences have changed";
  } finally {
    rmSync(elsewhere, { recursive: true });
  }
}

const [flag] = process.argv.slice(2);
const complaint = flag === "--check" ? difference() : flag === "--stale" ? staleness() : write();
if (complaint !== undefined) {
  process.stderr.write(`${complaint}; run node scripts/build-template.mjs\n`);
  process.exitCode = 1;
}
