// `npm run check`: format, lint, types, unused code, architecture and unit tests, side by side.
// `--all`, for `npm test`, adds the properties and the integration and conformance tests.
import { spawn } from "node:child_process";
import { noteTimes } from "./test-times.mjs";

const isAll = process.argv.includes("--all");
const projects = ["unit", "architecture", ...(isAll ? ["prop", "integration", "conformance"] : [])];

const steps = [
  ["format", "biome", "format", "."],
  // One program knows the types for both; beside tsc it would work them out twice.
  ["lint and types", "oxlint", "--type-aware", "--type-check", "src", "test", "bench", "scripts", "vitest.config.ts"],
  ["unused", "knip", "--cache"],
  // Only what fails is printed: a list of ten thousand good tests is where a bad one gets lost.
  ["tests", "vitest", "run", "--reporter=minimal", ...projects.flatMap((project) => ["--project", project])],
];

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
