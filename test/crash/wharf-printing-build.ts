import { expect } from "vitest";
import { scriptStep, type WharfRest } from "#test/support/hosted-builds.ts";
import { rounds } from "#test/support/rounds.ts";

/** Of each of the four steps. */
export const linesOfStep: number = rounds(20_000, 250_000);

/**
 * Four steps that print numbered lines in twenty heaps, so that there is time to be killed in, and leave a file each. The last heap comes when there is
 * a file called `gate`: until then nobody is late for a build that goes on.
 */
export function printingBuild(gate: string): object {
  const step = scriptStep(
    `for k in $(seq 0 19); do until [ $k -lt 19 -o -e ${gate} ]; do sleep 0.2; done; seq -f 'line %.0f' $((k * ${linesOfStep} / 20 + 1)) $(((k + 1) * ${linesOfStep} / 20)); sleep 0.4; done`,
    'echo kept > "$WHARF_ARTIFACTS_DIR/kept.txt"',
  );
  return { build: { one: step, two: step, three: step, four: step } };
}

/** Everything that such a build has printed and left is there, once, in order. */
export async function expectWholeLog(hosted: WharfRest, number: string, linesOfEach: number): Promise<void> {
  for (const stepId of [1, 2, 3, 4]) expect(await expectPrefix(hosted, number, stepId)).toBe(linesOfEach);
  expect(await hosted.log(number)).toHaveLength(4 * linesOfEach);
  const { list } = await hosted.ask<{ list: readonly { name: string }[] }>("GET", `/build/${number}/artifact`);
  expect(list.map(({ name }) => name)).toEqual(["kept.txt", "kept.txt", "kept.txt", "kept.txt"]);
}

/** What is there of a step is what it has printed up to some line, each line once, in order. Answers with how many lines that are. */
export async function expectPrefix(hosted: WharfRest, number: string, stepId: number): Promise<number> {
  const lines = await hosted.log(number, stepId);
  const wrong = lines.findIndex(
    ({ workerLogId, message }, at) => workerLogId !== at + 1 || message !== `line ${at + 1}`,
  );
  expect(wrong === -1 ? undefined : { stepId, at: wrong, line: lines[wrong] }).toBeUndefined();
  return lines.length;
}
