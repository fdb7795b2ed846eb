#!/usr/bin/env node
"use strict";
// Starts the program (docs/decisions/0094). CommonJS, few modules and synchronous: everything here runs before every command.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`slipway: Node.js 20.19 or newer is needed, this is ${process.versions.node}\n`);
  process.exit(1);
}

const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");

/** Of compiled code, 1 to 5 MB each, one for each command, build and version of Node.js: as many as there are commands. */
const mostFiles = 48;

// As `wharf` it is the original's command: its arguments are those of `slipway wharf`.
if (path.basename(process.argv[1] ?? "") === "wharf") process.argv.splice(2, 0, "wharf");

const verb = process.argv[2] ?? "--help";
const program = /^(-h|--help|help|-V|--version|version)$/.test(verb) ? "help" : "slipway";
// With the growth of V8, a short command spends a tenth of its time on collections, and the heap of a busy server grows far
// beyond what lives in it: without `--optimize-for-size`, V8 hardly ever compacts it (docs/decisions/0093).
if (program === "slipway")
  require("node:v8").setFlagsFromString(
    verb === "up"
      ? "--optimize-for-size --heap-growing-percent=60 --semi-space-growth-factor=4"
      : "--semi-space-growth-factor=16",
  );

const dist = path.join(__dirname, "..", "dist");
const file = path.join(dist, `${program}.cjs`);
/** ASCII, and begins with `//` and the hash of the rest. */
const source = fs.readFileSync(file, "latin1");
/** Of this build and this version of Node.js: V8 would take the code of a similar version, and crash. */
const codeFile = [source.slice(2, 18), process.version, process.arch, /^[a-z]{2,12}$/.test(verb) ? verb : ""].join("-");
const directory = codeDirectory();
const cachedData = directory && read(path.join(directory, codeFile));
const wrapped = `(function(require,__dirname){"use strict";${source}\n})`;
const script = new vm.Script(wrapped, { filename: file, cachedData });
if (directory && script.cachedDataRejected !== false) process.once("exit", keepCode);
script.runInThisContext()(require, dist);

/** The directory of compiled code. V8 trusts what it reads, so the directory must be this user's, and private. */
function codeDirectory() {
  const { NODE_COMPILE_CACHE: given, XDG_CACHE_HOME: cache, HOME: home } = process.env;
  const root = given || cache || (home && path.join(home, ".cache"));
  if (!root || !path.isAbsolute(root) || !process.getuid) return undefined;
  const directory = path.join(root, "slipway-code");
  try {
    // Under sudo, HOME may be the home of another user, which stays as it is.
    if (fs.statSync(fs.existsSync(root) ? root : path.dirname(root)).uid !== process.getuid()) return undefined;
    fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
    const { uid, mode } = fs.lstatSync(directory);
    return uid === process.getuid() && (mode & 0o022) === 0 ? directory : undefined;
  } catch {
    return undefined; // A read-only home.
  }
}

/** Marks the file as used. */
function read(file) {
  let code;
  try {
    code = fs.readFileSync(file);
    fs.utimesSync(file, new Date(), new Date());
  } catch {} // Not written yet.
  return code;
}

/** Writes what an orderly command has compiled, and removes what was not used for longest. Failing costs the next command time, nothing else. */
function keepCode(exitCode) {
  if (![0, 130, 143].includes(exitCode)) return;
  try {
    const fresh = path.join(directory, `${codeFile}.${process.pid}`);
    fs.writeFileSync(fresh, script.createCachedData(), { mode: 0o600, flag: "wx", flush: true });
    fs.renameSync(fresh, path.join(directory, codeFile));
    const files = fs.readdirSync(directory).map((name) => path.join(directory, name));
    const aged = files.map((each) => ({ each, time: fs.statSync(each).mtimeMs })).sort((a, b) => b.time - a.time);
    for (const { each } of aged.slice(mostFiles)) fs.rmSync(each, { force: true });
  } catch {}
}
