import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { deferred, systemClock } from "#lib/base/index.ts";
import { type HostedBuild, launchWorker } from "../../src/dialects/wharf/provisioner/host/launch.ts";
import { createResults } from "../../src/dialects/wharf/results/results-store.ts";

// The program of a worker with a build that does what a file of its repository says. The launcher is the real one: claim, clone, results of
// what fails. Started as `node wharf-worker-program.mjs wharf launch DIRECTORY REQUEST`.

const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
const [directory = "", launch = ""] = process.argv.slice(4);

/** Instead of `slipway wharf run`. */
async function run(build: HostedBuild): Promise<number> {
  const behaviour = (await readFile(`${build.project}/behaviour`, "utf8")).trim();
  process.stdout.write(`${JSON.stringify({ ...build, pid: process.pid })}\n`);
  if (behaviour === "refuse") {
    process.stderr.write(".wharf-ci.yml:1:1: error: this is no definition\n");
    return 1;
  }
  const cancelled = deferred<void>();
  const token = build.authTokenFile === undefined ? undefined : await readFile(build.authTokenFile, "utf8");
  const server = createServer((request, response) => {
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`)
      return void response.writeHead(401).end();
    if (request.url === "/api/build/cancel") cancelled.resolve();
    response.end('{"message":"pong"}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const results = await createResults(
    build.resultsDir,
    {
      buildId: build.buildId ?? 0,
      projectId: 0,
      instance: "local",
      runtime: "host",
      definitionSha256: "",
      address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
      stages: [{ stageId: 1, name: "s", runsIf: "success" }],
      steps: [{ stepId: 1, stageId: 1, name: "t", type: "container", image: "x" }],
    },
    { clock: systemClock },
  );
  await results.setStatus(1, "Running");
  const log = await results.openLog(1);
  log.append("stdout", Buffer.from(`inputs ${await readFile(build.inputFile, "utf8")}\n`));
  if (behaviour === "crash") {
    while (results.logs[0]?.lines === 0) await new Promise(setImmediate);
    process.kill(process.pid, "SIGKILL");
  }
  if (behaviour === "wait") await cancelled.promise;
  const status = behaviour === "wait" ? "Cancelled" : "Success";
  await results.setStatus(1, status, behaviour === "wait" ? null : 0);
  await results.finish({ status });
  await results.freeze();
  if (!stop.signal.aborted) await new Promise((resolve) => stop.signal.addEventListener("abort", resolve));
  server.close();
  return 0;
}

process.exitCode = await launchWorker(directory, launch, {
  environment: process.env,
  clock: systemClock,
  signal: stop.signal,
  run,
  keepOutput: () => undefined,
  say: (line) => void process.stderr.write(`${line}\n`),
});
