import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadNotedServers } from "#dialects/wharf/index.ts";
import { environmentIn } from "./testing/command-line.ts";
import { findServer, noteDirectories, type SoughtServer } from "./wharf-servers.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "slipway-servers-"));
});
afterEach(() => rm(home, { recursive: true }));

const usual = "http://127.0.0.1:5009";
const environment = () => environmentIn(home, { variables: { XDG_RUNTIME_DIR: home, TMPDIR: home } });
const find = async (more: Partial<SoughtServer> = {}) =>
  await findServer({ serves: "provisioner", token: undefined, flag: "--url", usual, ...more }, environment());
const note = async (address: string, token?: string) =>
  await (await loadNotedServers()).noteServer(noteDirectories(environment()), "provisioner", address, token);

test("a token is brought to the server that asks for it, and to nobody where there is none of this user", async () => {
  await expect(find({ token: "ours" })).rejects.toMatchObject({
    message: "no provisioner of this user runs here and asks for this token",
    hint: "name the one that is meant: --url http://127.0.0.1:5009",
  });
  await note("127.0.0.1:5009");
  await note("127.0.0.1:4001", "theirs");
  await expect(find({ token: "ours" })).rejects.toThrow("no provisioner");
  await note("127.0.0.1:4002", "ours");
  expect(await find({ token: "ours" })).toBe("http://127.0.0.1:4002");
});

test("parameters with secrets go to a server of this user alone; who tells nothing may ask at the usual address", async () => {
  await expect(find({ isSecret: true })).rejects.toThrow("no provisioner of this user runs here");
  expect(await find()).toBe(usual);
  await note("127.0.0.1:4001");
  expect(await find({ isSecret: true })).toBe("http://127.0.0.1:4001");
  expect(await find()).toBe("http://127.0.0.1:4001");
});

test("of several servers the one at the usual address is meant; without it one has to be named", async () => {
  await note("127.0.0.1:4001");
  await note("127.0.0.1:4002");
  await expect(find()).rejects.toThrow(/several run here: http:.*:400[12], http:.*:400[12]/);
  await note("127.0.0.1:5009");
  expect(await find()).toBe(usual);
});

test("notes are in the user's runtime directory, or in one of the user's own below the temporary one", () => {
  const own = `slipway-${process.getuid?.() ?? 0}`;
  const at = (variables: Record<string, string>) => noteDirectories(environmentIn("/", { variables }));
  expect(at({ XDG_RUNTIME_DIR: "/run/user/7", TMPDIR: "/var/tmp" })).toEqual([
    "/run/user/7/slipway",
    `/var/tmp/${own}`,
  ]);
  expect(at({ XDG_RUNTIME_DIR: "relative" })).toEqual([`/tmp/${own}`]);
});
