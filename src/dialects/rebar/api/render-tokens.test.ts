import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { MemoryWorld } from "../testing/memory-world.ts";
import { renderTokens } from "./tokens.ts";
import { openToken } from "./tokens.ts";

test("tokens of templates are tokens of the API, for as long as they say", () => {
  const world = new MemoryWorld({
    profiles: [{ Name: "p" }],
    machines: [{ Name: "m.example.com", Uuid: "3e7031fe-3062-45f1-835c-92541bc9cbd3" }],
  });
  const [machine] = world.all("machines");
  const clock = new FakeClock();
  const tokenKey = new Uint8Array(32);
  const tokens = renderTokens({ tokenKey }, world, clock);
  const opened = (token: string, now = clock.now()) => openToken(tokenKey, world, token, now)?.subject;
  const token = tokens.machineToken(machine, 60);
  expect(opened(token)).toMatchObject({ kind: "machine", machine: machine?.Uuid });
  expect(opened(token, clock.now() + 60_000)).toBeUndefined();
  expect(opened(tokens.machineToken(undefined, 60))).toMatchObject({ kind: "create" });
  expect(opened(tokens.profileToken("p", 60))).toMatchObject({ kind: "profile", profile: "p" });
});
