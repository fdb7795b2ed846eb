import { beforeEach, describe, expect, test } from "vitest";
import { type TestContext, testContext } from "../testing/index.ts";
import { listObjects } from "./list.ts";
import { Turns } from "./turns.ts";

/** Turns that count the pieces that were asked for. */
class CountedTurns extends Turns {
  pieces = 0;
  override piece(): Promise<void> {
    this.pieces += 1;
    return super.piece();
  }
}

describe("a list gives others their turn", () => {
  let context: TestContext;
  beforeEach(() => {
    context = testContext();
  });
  const put = (name: string, labels: Record<string, string>, text = "") =>
    context.put("configmaps", { kind: "ConfigMap", metadata: { name, labels }, data: { text } });
  const piecesOf = async (request: { readonly labelSelector?: string; readonly fieldSelector?: string }) => {
    const turns = new CountedTurns(context.clock);
    await listObjects({ ...context, turns }, context.served("configmaps"), request);
    return turns.pieces;
  };

  test("every 500 objects", async () => {
    for (let n = 0; n < 1001; n++) await put(`m${n}`, {});
    expect(await piecesOf({})).toBe(2);
    expect(await piecesOf({ labelSelector: "a!=b" })).toBe(2);
  });

  test("every 5,000 labels that a selector looks at, whatever the number of its terms", async () => {
    const labels = Object.fromEntries(Array.from({ length: 1100 }, (_, n) => [`k${n}`, "v"]));
    for (let n = 0; n < 20; n++) await put(`m${n}`, labels);
    const terms = Array.from({ length: 300 }, (_, n) => `x${n}!=v`).join(",");
    expect(await piecesOf({ labelSelector: "a!=b" })).toBe(4);
    expect(await piecesOf({ labelSelector: terms })).toBe(4);
    expect(await piecesOf({})).toBe(0);
  });
});
