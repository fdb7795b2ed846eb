import { beforeEach, describe, expect, test } from "vitest";
import { FakeClock } from "#lib/base/index.ts";
import { Sessions } from "./sessions.ts";

const ann = { user: "ann", groups: ["devs"] };
const minute = 60_000;
let clock: FakeClock;
let sessions: Sessions;
beforeEach(() => {
  clock = new FakeClock();
  sessions = new Sessions(clock);
});
const named = (user: string) => ({ user, groups: [] });
const login = (who = ann) => sessions.redeem(sessions.issueCode(() => who).code);

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
    const secret = login()?.secret ?? "";
    await clock.advance(720 * minute - 1);
    expect(sessions.find(secret)).toMatchObject({ identity: ann });
    await clock.advance(1);
    expect(sessions.find(secret)).toBe(undefined);
  });

  test("ends when it is told to", () => {
    const secret = login()?.secret ?? "";
    sessions.end(secret);
    expect(sessions.find(secret)).toBe(undefined);
  });

  test("ends for good when what was shown for it is taken back", () => {
    let who: typeof ann | undefined = ann;
    const secret = sessions.redeem(sessions.issueCode(() => who).code)?.secret ?? "";
    expect(sessions.find(secret)?.identity).toBe(ann);
    who = undefined;
    expect(sessions.find(secret)).toBe(undefined);
    who = ann;
    expect(sessions.find(secret)).toBe(undefined);
  });

  test("gives way when its user has fifty newer ones, or all together a thousand", () => {
    const [first, second, third] = [login()?.secret ?? "", login()?.secret ?? "", login()?.secret ?? ""];
    for (let count = 0; count < 48; count += 1) login();
    expect(sessions.find(first)).toBe(undefined);
    expect(sessions.find(second)).toBeDefined();
    for (let count = 0; count < 951; count += 1) login(named(`u${count}`));
    expect(sessions.find(second)).toBe(undefined);
    expect(sessions.find(third)).toBeDefined();
  });
});
