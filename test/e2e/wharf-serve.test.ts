import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { tcpConnect } from "../../src/dialects/wharf/worker-api/tcp-connect.ts";
import { readLines } from "../../src/dialects/wharf/worker-api/line-frames.ts";
import { WorkerClient } from "../../src/dialects/wharf/worker-api/worker-client.ts";
import { silentLog, systemClock } from "../../src/lib/base/index.ts";
import { removeDirectory, slipway } from "../support/slipway.ts";
import { wharfTokenFile } from "../support/wharf-access.ts";
import { readBuildFile, resultsOf, startWharf, type WharfProject, wharfProject } from "../support/wharf.ts";

// A worker that shows its build to others, as the real program.

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function project(cmds: readonly string[]): Promise<WharfProject> {
  const made = await wharfProject(`s:\n  a: {container: {image: any, cmds: ${JSON.stringify(cmds)}}}\n`);
  closers.push(() => removeDirectory(made.home));
  return made;
}

const serving = ["--build-id", "5", "--serve"];
const { signal } = new AbortController();

test("a build that has failed is served until its worker is told to end, which says how the build ended", async () => {
  const at = await project(["echo one", "echo two", 'echo left > "$WHARF_ARTIFACTS_DIR/a.txt"', "exit 3"]);
  const worker = startWharf(at, [...serving, "--address", "127.0.0.1:0"]);
  const directory = resultsOf(at, 5);
  const buildFile = () => readBuildFile(directory).catch(() => undefined);
  await expect.poll(buildFile).toMatchObject({ frozen: true, status: "Failed", address: expect.any(String) as string });
  const { address } = (await readBuildFile(directory)) as unknown as { readonly address: string };
  const token = (await readFile(wharfTokenFile(join(at.home, ".slipway")), "utf8")).trim();
  const client = new WorkerClient({
    connect: tcpConnect(address),
    token,
    clock: systemClock,
    random: Math.random,
    log: silentLog,
  });
  closers.push(() => client.close());
  const lines: string[] = [];
  for await (const batch of client.logs(new Map(), signal))
    lines.push(...readLines(batch).map(({ message }) => message));
  expect(lines).toEqual(["one", "two"]);
  const statuses: unknown[] = [];
  for await (const { status } of client.statuses(signal)) statuses.push(status);
  expect(statuses.at(-1)).toBe("Failed");
  expect(await client.build(signal)).toMatchObject({ buildId: 5, status: "Failed", frozen: true });
  worker.child.kill("SIGTERM");
  expect((await worker.ended).code).toBe(1);
});

test("an address that is taken ends the command before the build, and leaves nothing of it", async () => {
  const at = await project(["touch ../../../../begun"]);
  const other = createServer().listen(0, "127.0.0.1");
  closers.push(() => other.close());
  await once(other, "listening");
  const bound = other.address();
  const address = `127.0.0.1:${typeof bound === "object" ? bound?.port : ""}`;
  const { code, err } = await slipway(["wharf", "run", "--runtime", "host", ...serving, "--address", address], {
    cwd: at.directory,
    env: at.env,
  });
  expect([code, err]).toEqual([
    1,
    expect.stringContaining(`cannot listen on ${address}: the port is in use`) as string,
  ]);
  await expect(readBuildFile(resultsOf(at, 5))).rejects.toThrow("ENOENT");
});
