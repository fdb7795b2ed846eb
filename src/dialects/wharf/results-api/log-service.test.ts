import { expect, test } from "vitest";
import { wharfApiV5 } from "#kernel/rpc/index.ts";
import { RpcClient } from "#kernel/rpc/testing/index.ts";
import { mostIntervals } from "../log-store/interval-set.ts";
import { allLines, lineOf } from "../log-store/testing/log-lines.ts";
import { withResultsApi } from "./testing/served-results.ts";

const { createLogStream } = wharfApiV5.Builds.method;
const at = { seconds: 1_700_000_000n, nanos: 5 };
const line = (build: number, step: number, id: number) => ({
  buildId: BigInt(build),
  workerStepId: BigInt(step),
  workerLogId: BigInt(id),
  timestamp: at,
  message: `${build}/${step}/${id}`,
});

test("lines of several builds come in one stream; duplicates are not counted, and what is nobody's is passed over", () =>
  withResultsApi(async ({ address, logs }) => {
    const client = new RpcClient(Number(address.split(":")[1]));
    const lines = Array.from({ length: 1500 }, (_, index) => line((index % 2) + 1, 1, index + 1));
    const odd = [
      line(0, 1, 1),
      line(9, 1, 1),
      { ...line(1, 2, 1), timestamp: { seconds: 0n, nanos: -1 } },
      { ...line(1, 2, 1), timestamp: { seconds: 1n << 60n, nanos: 0 } },
      { buildId: 1n, workerStepId: 2n, workerLogId: 1n, message: "no time" },
      { ...line(1, 2, 1), workerLogId: (1n << 64n) - 1n },
      line(1, 1, 1),
    ];
    const answer = await client.clientStream(createLogStream, [...lines, ...odd, line(2, 3, 1)]).answer;
    expect(answer).toMatchObject({ linesInserted: 1501n });
    expect((await allLines(logs, 1)).map(({ message }) => message)).toEqual(
      lines.filter(({ buildId }) => buildId === 1n).map(({ message }) => message),
    );
    expect(await logs.counts(2)).toMatchObject({ lines: 751 });
    const again = await client.clientStream(createLogStream, lines).answer;
    expect(again).toMatchObject({ linesInserted: 0n });
    client.close();
  }));

test("a line that cannot be kept keeps out no other one", () =>
  withResultsApi(async ({ address, logs }) => {
    const stretches = Array.from({ length: mostIntervals }, (_, at) => lineOf(1, 11 + 2 * at));
    await logs.insert(1, stretches);
    const client = new RpcClient(Number(address.split(":")[1]));
    const answer = await client.clientStream(createLogStream, [line(1, 1, 1), line(1, 2, 1)]).answer;
    expect(answer).toMatchObject({ linesInserted: 1n });
    client.close();
  }));
