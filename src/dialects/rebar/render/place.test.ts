import { expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { openToken } from "../api/tokens.ts";
import { MemoryWorld } from "../testing/memory-world.ts";
import { renderPlaceOf } from "./place.ts";

test("tokens of templates are tokens of the API, for as long as they say", () => {
  const world = new MemoryWorld({
    profiles: [{ Name: "p" }],
    machines: [{ Name: "m.example.com", Uuid: "3e7031fe-3062-45f1-835c-92541bc9cbd3" }],
  });
  const [machine] = world.all("machines");
  const clock = new FakeClock();
  const tokenKey = new Uint8Array(32);
  const place = renderPlaceOf({
    world,
    tokenKey,
    clock,
    provisionerUrl: "http://127.0.0.1:8091",
    apiUrl: "https://127.0.0.1:8092",
    open: (_owner, sealed) => Promise.resolve(sealed),
  });
  const opened = (token: string, now = clock.now()) => openToken(tokenKey, world, token, now)?.subject;
  const token = place.machineToken(machine, 60);
  expect(opened(token)).toMatchObject({ kind: "machine", machine: machine?.Uuid });
  expect(opened(token, clock.now() + 60_000)).toBeUndefined();
  expect(opened(place.machineToken(undefined, 60))).toMatchObject({ kind: "create" });
  expect(opened(place.profileToken("p", 60))).toMatchObject({ kind: "profile", profile: "p" });
});
