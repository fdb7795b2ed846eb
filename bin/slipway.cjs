#!/usr/bin/env node
"use strict";
// Starts the program with its compiled code at hand (docs/decisions/0004-start-up.md). CommonJS, few modules and synchronous:
// whatever is done here is done before every command.
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`slipway: Node.js 20.19 or newer is needed, this is ${process.versions.node}\n`);
  process.exit(1);
}

const fs = require("node:fs");
const path = require("node:path");
const v8 = require("node:v8");
const vm = require("node:vm");

// As `wharf` it is the original's command: what follows are words of `slipway wharf`.
if (path.basename(process.argv[1] ?? "") === "wharf") process.argv.splice(2, 0, "wharf");

/** Of compiled code: one to five for each verb, as many as it uses parts. */
const mostFiles = 160;
/** A command went well, or was asked to end by Ctrl-C or SIGTERM, as every server is. */
const orderlyEnds = [0, 130, 143];
const verb = verbOf(process.argv.slice(2));

// A command allocates some ten megabytes and ends: a young generation that grows at its first collection to all it may have spares
// it the others. What runs for half a second seldom repays being optimized, which Node 20 does on a second thread at the cost of half as
// much again: functions have to run for four times as long as usual (66 KiB of bytecode) before it begins. Later versions have a cheaper
// optimizer for them, and no such flag. A server lives long and is better off with what V8 chooses.
if (verb !== "up") {
  v8.setFlagsFromString("--semi-space-growth-factor=16");
  if (major === 20) v8.setFlagsFromString("--interrupt-budget=270336");
}

const dist = path.join(__dirname, "..", "dist");
const own = ownDirectory();
/** One file of all parts, opened once: those of two builds never meet, whenever it is replaced. */
const file = path.join(dist, "slipway.parts");
const fd = fs.openSync(file);
/** What scripts/parts.mjs says of each part: its hash, and where it is. */
const table = JSON.parse(text(0, 1024));
/** What has been loaded, by name. */
const parts = new Map();
moduleOf("slipway:cli:src/app/cli/main.ts");

/** What the program requires: modules of its parts (scripts/parts.mjs), and whatever else Node finds. */
function moduleOf(name) {
  if (!name.startsWith("slipway:")) return require(name);
  const [, part, module] = name.split(":");
  if (!parts.has(part)) parts.set(part, load(part));
  return parts.get(part)[module]();
}

/** Of the file, which is ASCII. */
function text(at, length) {
  const bytes = Buffer.allocUnsafeSlow(length);
  for (let done = 0; done < length; ) {
    const count = fs.readSync(fd, bytes, done, length - done, at + done);
    if (count === 0) throw new Error(`${file} ends early: build or install slipway again`);
    done += count;
  }
  return bytes.toString("latin1");
}

/** A part is a function of `require` and `__dirname` that returns a table of its modules. */
function load(part) {
  const { hash, at, length } = table[part];
  const source = text(at, length);
  // The tag stands for V8's version, its flags and the processor.
  const name = `${hash}-${v8.cachedDataVersionTag().toString(16)}-${verb}`;
  const cachedData =
    read(path.join(dist, "slipway-code", name)) ??
    (own !== undefined && isPrivate(own) ? read(path.join(own, name)) : undefined);
  const script = new vm.Script(source, { filename: `${file}/${part}.cjs`, cachedData });
  if (own !== undefined && (cachedData === undefined || script.cachedDataRejected))
    process.once("exit", (code) => keepCode(code, name, script));
  return script.runInThisContext()(moduleOf, dist);
}

/** What is compiled together: runs of documents and builds have little in common. */
function verbOf([verb = "", ...words]) {
  if (!/^[a-z]{2,12}$/.test(verb)) return "help";
  const isBuild =
    verb === "wharf" ? words[0] === "run" : verb === "run" && !words.some((word) => /\.(ya?ml|json)$|^-$/.test(word));
  return isBuild ? "build" : verb;
}

/** Where this user's compiled code is kept: never in a directory that anybody else could write to. */
function ownDirectory() {
  const { XDG_CACHE_HOME: cache, HOME: home } = process.env;
  const root = cache || (home && path.join(home, ".cache"));
  return root && path.isAbsolute(root) && process.getuid ? path.join(root, "slipway-code") : undefined;
}

function read(file) {
  try {
    return fs.readFileSync(file);
  } catch {
    return undefined; // Not made yet.
  }
}

function isPrivate(directory) {
  const found = fs.lstatSync(directory, { throwIfNoEntry: false });
  return found !== undefined && found.isDirectory() && found.uid === process.getuid() && (found.mode & 0o077) === 0;
}

/** After an orderly end: what it compiled is there for the next one. Failing to keep it costs time, nothing else. */
function keepCode(code, name, script) {
  if (!orderlyEnds.includes(code)) return;
  try {
    const root = path.dirname(own);
    fs.mkdirSync(root, { recursive: true, mode: 0o700 });
    // Another user's home, as under sudo, is left as it is.
    if (fs.statSync(root).uid !== process.getuid()) return;
    fs.mkdirSync(own, { recursive: true, mode: 0o700 });
    if (isPrivate(own)) write(path.join(own, name), script.createCachedData());
    removeOldest(own);
  } catch {}
}

/** Whole or not at all, even after a power cut: V8 trusts what it is given. */
function write(file, data) {
  const fresh = `${file}.${process.pid}`;
  fs.writeFileSync(fresh, data, { mode: 0o600, flag: "wx", flush: true });
  fs.renameSync(fresh, file);
}

function removeOldest(directory) {
  const files = fs.readdirSync(directory).map((each) => path.join(directory, each));
  if (files.length <= mostFiles) return;
  const aged = files.map((each) => ({ each, time: fs.statSync(each).mtimeMs })).sort((a, b) => b.time - a.time);
  for (const { each } of aged.slice(mostFiles)) fs.rmSync(each, { force: true });
}
