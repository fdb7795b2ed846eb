import { unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { HostedBuilds, scriptStep } from "#test/support/hosted-builds.ts";
import { removeDirectory, slipway, temporaryDirectory } from "#test/support/slipway.ts";

// The same way for those who ask for a token: everybody on it has one, and nobody is answered without.

const patience = { timeout: 80_000 };
let directory: string;
let hosted: HostedBuilds;
beforeEach(async () => {
  directory = await temporaryDirectory();
  // So that the watchdog is not waited for; nothing that it may not end is without its other half for so long.
  const env = { XDG_RUNTIME_DIR: directory, WHARF_WATCHDOG_INTERVAL: "500ms", WHARF_WATCHDOG_MINAGE: "8s" };
  hosted = await HostedBuilds.open(directory, { token: "open-sesame", env });
});
afterEach(async () => {
  await hosted.close();
  await removeDirectory(directory);
});

test("with a token a worker answers nobody without its own, its results arrive, and one that is gone is missed", async () => {
  const gate = join(directory, "gate");
  await hosted.addProject({ build: { one: scriptStep(`until [ -e ${gate} ]; do sleep 0.1; done; echo done`) } });
  const number = await hosted.build();
  const addresses = async () => (await hosted.workers()).map(({ address }) => address).filter((one) => one !== "");
  await expect.poll(addresses, patience).toHaveLength(1);
  const [address] = await addresses();
  const cancel = (headers: Record<string, string>) =>
    fetch(`http://${address}/api/build/cancel`, { method: "POST", headers });
  expect((await fetch(`http://${address}/api/build`)).status).toBe(401);
  expect((await cancel({})).status).toBe(401);
  expect((await cancel({ authorization: "Bearer open-sesame" })).status).toBe(401);
  // Released wharf-apis bring the token of an engine in the query, when they start a build.
  const started = (token: string) =>
    fetch(`${hosted.address("Wharf's provisioner")}/api/worker?token=${token}`, { method: "POST" });
  expect([(await started("open-sesame")).status, (await started("other")).status]).toEqual([400, 401]);
  const list = ["wharf", "provisioner", "list", "--url", hosted.address("Wharf's provisioner")];
  // Where its note is not found: another user, for one.
  const elsewhere = { env: { TMPDIR: join(directory, "elsewhere") } };
  expect((await slipway(list, elsewhere)).err).toMatch(
    /needs a token.*\nname the file that it is in with --auth-token-file\n/,
  );
  // Who names no address means the server of this user that asks for the token, wherever it is, and no other.
  const tokens = { own: join(directory, "own.token"), other: join(directory, "other.token") };
  await writeFile(tokens.own, "open-sesame\n");
  await writeFile(tokens.other, "of-somebody-else\n");
  // Servers of other tests, which have the same token, note themselves below the usual temporary directory.
  const place = { XDG_RUNTIME_DIR: directory, TMPDIR: directory };
  const listWith = (file: string) =>
    slipway(["wharf", "provisioner", "list", "--auth-token-file", file], { env: place });
  expect(await listWith(tokens.own)).toMatchObject({ code: 0, out: expect.stringContaining(`${address}`) as string });
  const refused = await listWith(tokens.other);
  expect(refused).toMatchObject({ code: 2, out: "" });
  expect(refused.err).toContain("this user runs no provisioner with this token on this machine");
  await writeFile(gate, "");
  await expect.poll(() => hosted.facts(number), patience).toMatchObject({ status: "Completed" });
  expect((await hosted.log(number, 1)).map(({ message }) => message)).toEqual(["done"]);
  await expect.poll(() => hosted.workers(), patience).toEqual([]);
  // Of the next one nothing is left, neither its worker nor the results.
  await unlink(gate);
  const lost = await hosted.build();
  await expect.poll(() => hosted.facts(lost), patience).toMatchObject({ status: "Running" });
  await hosted.endWorkers();
  // Its last word may have been heard before everything of it was gone; nothing else ends it then but the watchdog.
  const reason = expect.stringMatching(/^(?:WorkerLost|Cancelled)$/) as string;
  await expect.poll(() => hosted.facts(lost), patience).toMatchObject({ status: "Failed", reason });
});
