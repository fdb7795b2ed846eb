import { closedLoop, type ClosedFigures } from "../harness/closed-loop.ts";
import { HttpConnection, requestHead, type Target } from "./http-connection.ts";

// B10: lists a whole collection again and again over one connection.

let connection: HttpConnection | undefined;

export async function connect(target: Target): Promise<void> {
  connection = await HttpConnection.open(target);
}

export interface ListLoad {
  readonly ms: number;
  readonly path: string;
  readonly token: string;
  readonly accept: string;
  /** A text that the answer must hold this many times: once per object. */
  readonly mark: string;
  readonly expected: number;
}

export async function run({ ms, path, token, accept, mark, expected }: ListLoad): Promise<ClosedFigures> {
  const request = requestHead("GET", path, { Authorization: `Bearer ${token}`, Accept: accept });
  let last: Buffer = Buffer.alloc(0);
  const figures = await closedLoop({ ms, inFlight: 1 }, async () => {
    const answer = await connection?.send(request);
    if (answer?.status !== 200) throw new Error(`the list was answered with ${answer?.status}`);
    last = answer.body;
  });
  // Counted once: a list of this size takes longer to search than to send.
  const found = last.toString("latin1").split(mark).length - 1;
  if (found !== expected) throw new Error(`${found} of ${expected} objects were listed`);
  JSON.parse(last.toString("utf8"));
  return figures;
}
