import { beforeEach, describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import type { Identity } from "../authz/identity.ts";
import { type SessionProof, Sessions } from "./sessions.ts";

const ann = { user: "ann", groups: ["devs"] };
const minute = 60_000;
let clock: FakeClock;
let sessions: Sessions;
beforeEach(() => {
  clock = new FakeClock();
  sessions = new Sessions(clock);
});
const named = (user: string) => ({ user, groups: [] });
function login(who: Identity = ann): SessionProof {
  const { secret = "", key = "" } = sessions.redeem(sessions.issueCode(() => who).code) ?? {};
  return { secret, key };
}

describe("a code", () => {
  test("is good once", () => {
    const { code } = sessions.issueCode(() => ann);
    expect(sessions.redeem(code)).toMatchObject({ identity: ann, until: clock.now() + 720 * minute });
    expect(sessions.redeem(code)).toBe(undefined);
    expect(sessions.redeem("guess")).toBe(undefined);
  });

  test("is good for five minutes", async () => {
    const [early, late] = [sessions.issueCode(() => ann), sessions.issueCode(() => ann)];
    expect(late.until).toBe(clock.now() + 5 * minute);
    await clock.advance(5 * minute - 1);
    expect(sessions.redeem(early.code)).toBeDefined();
    await clock.advance(1);
    expect(sessions.redeem(late.code)).toBe(undefined);
  });

  test("is nothing when what was shown for it is taken back", () => {
    const { code } = sessions.issueCode(() => undefined);
    expect(sessions.redeem(code)).toBe(undefined);
  });

  test("gives way when its user has ten newer ones, and to nobody else's", () => {
    const [first, second] = [sessions.issueCode(() => ann), sessions.issueCode(() => ann)];
    for (let count = 0; count < 80; count += 1) sessions.issueCode(() => named(`u${count % 8}`));
    for (let count = 0; count < 9; count += 1) sessions.issueCode(() => ann);
    expect(sessions.redeem(first.code)).toBe(undefined);
    expect(sessions.redeem(second.code)).toBeDefined();
  });

  test("gives way when a hundred newer ones are of as many users", () => {
    const [first, second] = [sessions.issueCode(() => ann), sessions.issueCode(() => ann)];
    for (let count = 0; count < 99; count += 1) sessions.issueCode(() => named(`u${count}`));
    expect(sessions.redeem(first.code)).toBe(undefined);
    expect(sessions.redeem(second.code)).toBeDefined();
  });
});

describe("a session", () => {
  test("is somebody's for twelve hours", async () => {
    const proof = login();
    await clock.advance(720 * minute - 1);
    expect(sessions.find(proof)).toMatchObject({ identity: ann });
    await clock.advance(1);
    expect(sessions.find(proof)).toBe(undefined);
  });

  test("ends when it is told to", () => {
    const proof = login();
    expect(sessions.end(proof)).toBe(true);
    expect(sessions.find(proof)).toBe(undefined);
    expect(sessions.end(proof)).toBe(false);
  });

  test("takes secret and key; one without the other neither finds nor ends it", () => {
    const [proof, other] = [login(), login()];
    for (const part of [
      { ...proof, key: other.key },
      { ...proof, key: "" },
      { ...other, key: proof.key },
      { ...proof, secret: proof.key },
    ]) {
      expect(sessions.find(part)).toBe(undefined);
      expect(sessions.end(part)).toBe(false);
    }
    expect(sessions.find(proof)).toBeDefined();
  });

  test("ends for good when what was shown for it is taken back", () => {
    let who: typeof ann | undefined = ann;
    const { secret = "", key = "" } = sessions.redeem(sessions.issueCode(() => who).code) ?? {};
    expect(sessions.find({ secret, key })?.identity).toBe(ann);
    who = undefined;
    expect(sessions.find({ secret, key })).toBe(undefined);
    who = ann;
    expect(sessions.find({ secret, key })).toBe(undefined);
  });

  test("gives way when its user has fifty newer ones, or all together a thousand", () => {
    const [first, second, third] = [login(), login(), login()];
    for (let count = 0; count < 48; count += 1) login();
    expect(sessions.find(first)).toBe(undefined);
    expect(sessions.find(second)).toBeDefined();
    for (let count = 0; count < 951; count += 1) login(named(`u${count}`));
    expect(sessions.find(second)).toBe(undefined);
    expect(sessions.find(third)).toBeDefined();
  });
});
