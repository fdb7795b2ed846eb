import { closedLoop, type ClosedFigures } from "../harness/closed-loop.ts";
import { HttpConnection, requestHead, type Target } from "./http-connection.ts";

// B10, P4, P5: lists a whole collection again and again over one connection, at once or by pages.

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

export async function run({ ms, path, expected, ...form }: ListLoad): Promise<ClosedFigures> {
  let last: Buffer = Buffer.alloc(0);
  const figures = await closedLoop({ ms, inFlight: 1 }, async () => {
    last = await get(path, form);
  });
  // Counted once: a list of this size takes longer to search than to send.
  const found = countOf(last, form.mark);
  if (found !== expected) throw new Error(`${found} of ${expected} objects were listed`);
  JSON.parse(last.toString("utf8"));
  return figures;
}

/** One operation is a whole list, `limit` objects a page; every page is read, as its continue token has to be. */
export async function pages({
  ms,
  path,
  expected,
  limit,
  ...form
}: ListLoad & { readonly limit: number }): Promise<ClosedFigures> {
  return closedLoop({ ms, inFlight: 1 }, async () => {
    let found = 0;
    let next = "";
    do {
      const page = await get(
        `${path}?limit=${limit}${next === "" ? "" : `&continue=${encodeURIComponent(next)}`}`,
        form,
      );
      found += countOf(page, form.mark);
      const { metadata } = JSON.parse(page.toString("utf8")) as { readonly metadata: { readonly continue?: string } };
      next = metadata.continue ?? "";
    } while (next !== "");
    if (found !== expected) throw new Error(`${found} of ${expected} objects were listed by pages`);
  });
}

async function get(path: string, { token, accept }: Pick<ListLoad, "token" | "accept">): Promise<Buffer> {
  const answer = await connection?.send(requestHead("GET", path, { Authorization: `Bearer ${token}`, Accept: accept }));
  if (answer?.status !== 200) throw new Error(`the list was answered with ${answer?.status}`);
  return answer.body;
}

const countOf = (body: Buffer, mark: string): number => body.toString("latin1").split(mark).length - 1;
