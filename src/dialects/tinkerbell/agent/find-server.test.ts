import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { noteServer } from "#kernel/doors/index.ts";
import { findServer } from "./find-server.ts";

let notes: string;
beforeEach(async () => {
  notes = await mkdtemp(join(tmpdir(), "slipway-agents-"));
});
afterEach(() => rm(notes, { recursive: true }));

test("a server that was named as localhost is the noted one, at the address of the note and with its token", async () => {
  await noteServer([notes], { serves: "tinkerbell-agents", url: "http://127.0.0.1:42113", tokenFile: "/token" });
  const find = async (settings: Parameters<typeof findServer>[0]) =>
    await findServer(settings, { notes: [notes], clock: systemClock, log: silentLog }, new AbortController().signal);
  const noted = { address: "127.0.0.1:42113", tokenFile: "/token" };
  expect(await find({ server: "localhost:42113" })).toEqual(noted);
  expect(await find({ server: "127.0.0.1:42113" })).toEqual(noted);
  expect(await find({ server: "localhost:42113", tls: { isVerified: true } })).toEqual({
    ...noted,
    address: "localhost:42113",
  });
  for (const server of ["localhost:42114", "[::1]:42113", "build.example:42113"])
    expect(await find({ server })).toEqual({ address: server, tokenFile: undefined });
  expect(await find({ server: "localhost:42113", tokenFile: "/other" })).toEqual({
    address: "localhost:42113",
    tokenFile: "/other",
  });
});
