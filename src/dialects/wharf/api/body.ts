import { isJsonObject, type JsonObject, type JsonValue, messageOf } from "#lib/base/index.ts";
import { boundedText, type ProblemKind, refuse } from "../http/index.ts";
import type { RestContext } from "../http/rest-api.ts";

/** Of a body in JSON: definitions are up to 1 MiB, and escaped. */
const mostBytes = 4 * 1024 * 1024;

/** The body as JSON, undefined when there is none. Refuses what is too long, and what is no JSON, which is `kind`. */
export async function readJson(
  context: RestContext,
  kind: ProblemKind = "invalid-param",
): Promise<JsonValue | undefined> {
  // Node's own stream, where there is a connection: what hono makes of it cannot be cut off in a way that is answered.
  const { incoming }: Partial<RestContext["env"]> = context.env;
  const text = await boundedText(incoming ?? context.req.raw.body, mostBytes);
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch (thrown) {
    throw refuse(kind, `the body is no JSON: ${messageOf(thrown)}`, { cause: thrown });
  }
}

/** The members of a body, read one by one; what is wrong with all of them is refused at once, by `done`. */
export class Fields {
  readonly #body: JsonObject;
  /** What is wrong so far, each with the name of its member. */
  readonly #problems: string[] = [];

  private constructor(body: JsonObject) {
    this.#body = body;
  }

  /** Refuses a body that is no object. */
  static async read(context: RestContext): Promise<Fields> {
    const body = await readJson(context);
    if (isJsonObject(body)) return new Fields(body);
    throw refuse("invalid-param", "expected a JSON object");
  }

  /** An absent text and null are empty. */
  text(name: string): string {
    const value = this.#body[name] ?? "";
    if (typeof value === "string") return value;
    this.#problems.push(`${name}: expected a text`);
    return "";
  }

  /** As `text`; must be there. */
  required(name: string): string {
    const value = this.text(name);
    if (value === "" && (this.#body[name] ?? "") === "")
      this.#problems.push(`${name}: expected a text that is not empty`);
    return value;
  }

  /** A whole number from 0; absent is 0. */
  number(name: string): number {
    const value = this.#body[name] ?? 0;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
    this.#problems.push(`${name}: expected a whole number from 0`);
    return 0;
  }

  /** Absent is false. */
  flag(name: string): boolean {
    const value = this.#body[name] ?? false;
    if (typeof value === "boolean") return value;
    this.#problems.push(`${name}: expected true or false`);
    return false;
  }

  /** A member as it is. */
  value(name: string): JsonValue | undefined {
    return this.#body[name];
  }

  /** Something that a reader of the body has found. */
  problem(text: string): void {
    this.#problems.push(text);
  }

  /** Refuses the body if anything of what was read is wrong. */
  done(): void {
    if (this.#problems.length === 0) return;
    throw refuse("invalid-param", this.#problems.join("; "), { errors: this.#problems });
  }
}
