// `npm run check`, the edit loop: format, lint, types, unused code, architecture and unit tests, side by side.
// `--all`, for `npm test`, adds the properties, the integration and conformance tests, and the rules that need types for all files.
import { execFileSync, spawn } from "node:child_process";
import { noteTimes } from "./test-times.mjs";

const isAll = process.argv.includes("--all");
const projects = ["unit", "architecture", ...(isAll ? ["prop", "integration", "conformance"] : [])];
const sources = ["src", "test", "bench", "scripts", "vitest.config.ts"];

const steps = [
  ["format", "biome", "format", "."],
  ...(isAll ? lintWithTypes() : lintOfEdits()),
  ["unused", "knip", "--cache"],
  // Only what fails is printed: a list of ten thousand good tests is where a bad one gets lost.
  ["tests", "vitest", "run", "--reporter=minimal", ...projects.flatMap((project) => ["--project", project])],
];

/** One program knows the types for both; beside tsc it would work them out twice. */
function lintWithTypes() {
  return [["lint and types", "oxlint", "--type-aware", "--type-check", ...sources]];
}

/** Types take most of a lint: tsc remembers those of files that did not change, and only edited files are held to the rules that need types. */
function lintOfEdits() {
  const edited = editedSources();
  const typed = edited.length === 0 ? [] : [["lint with types", "oxlint", "--type-aware", ...edited]];
  const types = [".", "src/app/ui/page", "test/browser"].map((at) => [`types of ${at}`, "tsc", "--noEmit", "-p", at]);
  return [["lint", "oxlint", ...sources], ...typed, ...types];
}

/** What differs from the main branch, committed or not; everything where git does not tell. */
function editedSources() {
  const git = (...args) => execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [main] = git(
      "for-each-ref",
      "--sort=-refname",
      "--format=%(refname)",
      "refs/remotes/origin/HEAD",
      "refs/heads/main",
    ).split("\n");
    const base = git("merge-base", "HEAD", main).trim();
    const changed = git("diff", "--name-only", "--diff-filter=d", base, "--", ...sources);
    const added = git("ls-files", "--others", "--exclude-standard", "--", ...sources);
    return `${changed}${added}`.split("\n").filter((path) => /\.(tsx?|mjs)$/.test(path));
  } catch {
    return sources;
  }
}

const run = ([name, program, ...args]) =>
  new Promise((resolve) => {
    const started = performance.now();
    const child = spawn(`node_modules/.bin/${program}`, args, { stdio: ["ignore", "pipe", "pipe"] });
    const output = [];
    child.stdout.on("data", (chunk) => output.push(chunk));
    child.stderr.on("data", (chunk) => output.push(chunk));
    child.on("error", (error) => resolve({ name, code: 1, text: `${error.message}; run npm ci first\n`, seconds: 0 }));
    child.on("close", (code) =>
      resolve({ name, code, text: Buffer.concat(output).toString(), seconds: (performance.now() - started) / 1000 }),
    );
  });

function report({ name, code, text, seconds }) {
  process.stdout.write(`${code === 0 ? "ok  " : "FAIL"} ${name} (${seconds.toFixed(1)} s)\n`);
  if (code !== 0 || name === "tests")
    process.stdout.write(
      text
        .split("\n")
        .slice(code === 0 ? -8 : 0)
        .join("\n"),
    );
  return code === 0;
}

const printTimes = noteTimes();
// All at once: the tests wait for disks, sockets and timers often enough to leave room for the others.
const reports = await Promise.all(steps.map(async (step) => report(await run(step))));
printTimes();
process.exitCode = reports.every(Boolean) ? 0 : 1;
