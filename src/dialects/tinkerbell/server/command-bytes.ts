// Four times as fast as the encoder by descriptors. A property test compares the two.

export interface StartedAction {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly cmd?: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly ns?: { readonly pid?: string; readonly net?: string };
}

export interface StartedWorkflow {
  readonly workflowId: string;
  readonly actions: readonly StartedAction[];
}

/** Tag of a length-delimited field in one byte: all numbers are below 16. */
const of = (field: number): number => (field << 3) | 2;

/** Writes from the end to the beginning, so that lengths are known in time. */
class Backwards {
  #bytes: Buffer;
  #at: number;

  constructor(room: number) {
    this.#bytes = Buffer.allocUnsafe(room);
    this.#at = room;
  }

  get length(): number {
    return this.#bytes.length - this.#at;
  }

  text(field: number, text: string): void {
    const length = Buffer.byteLength(text);
    this.#room(length);
    this.#at -= length;
    this.#bytes.write(text, this.#at, length, length === text.length ? "latin1" : "utf8");
    this.#head(field, length);
  }

  /** Makes everything written since `end` a field. */
  message(field: number, end: number): void {
    this.#head(field, this.length - end);
  }

  done(): Uint8Array {
    return this.#bytes.subarray(this.#at);
  }

  #head(field: number, length: number): void {
    this.#room(6);
    let size = 1;
    for (let rest = length; rest > 0x7f; rest >>>= 7) size++;
    this.#at -= size;
    let at = this.#at;
    for (let rest = length; ; rest >>>= 7) {
      this.#bytes[at++] = rest > 0x7f ? (rest & 0x7f) | 0x80 : rest;
      if (rest <= 0x7f) break;
    }
    this.#bytes[--this.#at] = of(field);
  }

  #room(needed: number): void {
    if (this.#at >= needed) return;
    const { length } = this;
    const larger = Buffer.allocUnsafe(2 * this.#bytes.length + needed);
    this.#bytes.copy(larger, larger.length - length, this.#at);
    this.#at = larger.length - length;
    this.#bytes = larger;
  }
}

/** `GetWorkflowsResponse` with a `StartWorkflow`. */
export function startBytes({ workflowId, actions }: StartedWorkflow): Uint8Array {
  const out = new Backwards(2048);
  for (let at = actions.length - 1; at >= 0; at--) {
    const action = actions[at];
    const end = out.length;
    if (action !== undefined) writeAction(out, action);
    out.message(2, end);
  }
  scalar(out, 1, workflowId);
  out.message(1, 0);
  out.message(1, 0);
  return out.done();
}

/** `GetWorkflowsResponse` with a `StopWorkflow`. */
export function stopBytes(workflowId: string): Uint8Array {
  const out = new Backwards(256);
  scalar(out, 1, workflowId);
  out.message(2, 0);
  return out.done();
}

/** Last field first. */
function writeAction(out: Backwards, { id, name, image, cmd, args, env, volumes, ns }: StartedAction): void {
  if (ns !== undefined) {
    const end = out.length;
    if (ns.net !== undefined) out.text(2, ns.net);
    if (ns.pid !== undefined) out.text(1, ns.pid);
    out.message(8, end);
  }
  texts(out, 7, volumes);
  for (const key of Object.keys(env).reverse()) {
    const end = out.length;
    // Map entries have both fields, even if empty.
    out.text(2, env[key] ?? "");
    out.text(1, key);
    out.message(6, end);
  }
  texts(out, 5, args);
  if (cmd !== undefined) out.text(4, cmd);
  scalar(out, 3, image);
  scalar(out, 2, name);
  scalar(out, 1, id);
}

/** Without presence: an empty text is not written. */
function scalar(out: Backwards, field: number, text: string): void {
  if (text !== "") out.text(field, text);
}

function texts(out: Backwards, field: number, list: readonly string[]): void {
  for (let at = list.length - 1; at >= 0; at--) out.text(field, list[at] ?? "");
}
