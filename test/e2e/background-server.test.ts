import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { identityOf } from "#lib/base/index.node.ts";
import {
  cleanEnvironment,
  endRunner,
  removeDirectory,
  root,
  slipway,
  slipwayBin,
  temporaryDirectory,
} from "#test/support/slipway.ts";
import { eventually, within } from "#test/support/within.ts";

let home: string;
let directory: string;
beforeEach(async () => {
  home = await temporaryDirectory();
  directory = join(home, ".slipway");
});
afterEach(async () => {
  await cli("down");
  await endRunner(directory);
  await removeDirectory(home);
});

const cli = (...words: readonly string[]) => slipway(words, { cwd: home, env: { HOME: home } });
const up = () => cli("up", "--detach", "--port", "0");

test("up --detach returns when the server is ready and says where; status shows it, and down stops it", async () => {
  // Of earlier servers.
  await mkdir(directory, { mode: 0o700 });
  await writeFile(join(directory, "slipway.log"), "x".repeat(17 * 1024 * 1024));
  const { code, out, err } = await up();
  expect(code, err).toBe(0);
  const [, url = ""] = /^Slipway \S+ is ready at (https:\S+)$/m.exec(out) ?? [];
  for (const line of [`data        ${directory}`, `kubeconfig  ${directory}/kubeconfig`, "stop with   slipway down"])
    expect(out).toContain(line);
  const [, log = ""] = /^ {2}log +(\S+)$/m.exec(out) ?? [];
  expect((await stat(`${log}.1`)).size).toBeGreaterThanOrEqual(17 * 1024 * 1024);
  expect((await stat(log)).size).toBeLessThan(1024 * 1024);
  expect(await readFile(log, "utf8")).toContain(url);

  await writeFile(join(home, "w.yaml"), workflow);
  expect((await cli("run", "w.yaml")).code).toBe(0);
  const status = await cli("status", "-o", "json");
  expect(status.code, status.err).toBe(0);
  const told = JSON.parse(status.out) as { readonly server: { readonly pid: number } };
  expect(told).toMatchObject({
    ready: true,
    server: { url, directory },
    ports: [{ serves: "Kubernetes API (this machine)", address: url }],
    runs: { "workflows.slipway.dev": { Succeeded: 1 } },
    degraded: [],
  });
  expect((await cli("status")).out).toMatch(/workflows\.slipway\.dev +1 Succeeded\n/);

  const again = await up();
  expect(again.code).toBe(1);
  expect(again.err).toContain(`${directory} belongs to a running slipway, process ${told.server.pid}`);

  const { pid } = told.server;
  expect((await cli("down")).out).toBe(`stopped the control plane of ${directory} (${url}, process ${pid})\n`);
  expect(identityOf(pid)).toEqual({ pid });
  const none = await cli("down");
  expect(none).toEqual({ code: 0, out: "", err: `slipway: no control plane is running in ${directory}\n` });
  expect((await cli("down", "-o", "json")).out).toBe(`${JSON.stringify({ directory, stopped: false })}\n`);
});

test("up --detach that cannot start prints why and ends with the code of up", async () => {
  const { code, err } = await cli("up", "--detach", "--port", "0", "--encryption-key-file", "none");
  expect(code).toBe(1);
  expect(err).toContain("the file with the encryption key cannot be read");
});

test("a client that is called while the server starts waits for it", async () => {
  await mkdir(directory, { mode: 0o700 });
  const server = spawn(process.execPath, [slipwayBin, "up", "--port", "0"], {
    cwd: root,
    env: cleanEnvironment({ HOME: home }),
    stdio: "ignore",
  });
  const exit = once(server, "exit");
  await eventually(60_000, "the server takes its directory", () => existsSync(join(directory, "lock")));
  const { code, err } = await cli("get", "workflows");
  expect(code, err).toBe(0);
  server.kill("SIGTERM");
  expect(await within(60_000, "the server stops", exit)).toEqual([0, null]);
});

const workflow = `apiVersion: slipway.dev/v1alpha1
kind: Workflow
metadata: {name: one}
spec: {steps: {one: {container: {image: none, command: ["true"]}}}}
`;
