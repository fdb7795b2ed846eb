import { isJsonObject, type JsonObject, type JsonValue, messageOf } from "#lib/base/index.ts";
import { boundedText, type ProblemKind, refuse } from "../http/index.ts";
import type { RestContext } from "../http/rest-api.ts";

const mostBytes = 4 * 1024 * 1024;

export async function readJson(
  context: RestContext,
  kind: ProblemKind = "invalid-param",
): Promise<JsonValue | undefined> {
  // Node's stream: hono's body cannot be cut off with an answer.
  const { incoming }: Partial<RestContext["env"]> = context.env;
  const text = await boundedText(incoming ?? context.req.raw.body, mostBytes);
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text) as JsonValue;
  } catch (thrown) {
    throw refuse(kind, `the body is no JSON: ${messageOf(thrown)}`, { cause: thrown });
  }
}

export class Fields {
  readonly #body: JsonObject;
  readonly #problems: string[] = [];

  private constructor(body: JsonObject) {
    this.#body = body;
  }

  static async read(context: RestContext): Promise<Fields> {
    const body = await readJson(context);
    if (isJsonObject(body)) return new Fields(body);
    throw refuse("invalid-param", "expected a JSON object");
  }

  text(name: string): string {
    const value = this.#body[name] ?? "";
    if (typeof value === "string") return value;
    this.#problems.push(`${name}: expected a text`);
    return "";
  }

  required(name: string): string {
    const value = this.text(name);
    if (value === "" && (this.#body[name] ?? "") === "")
      this.#problems.push(`${name}: expected a text that is not empty`);
    return value;
  }

  number(name: string): number {
    const value = this.#body[name] ?? 0;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
    this.#problems.push(`${name}: expected a whole number from 0`);
    return 0;
  }

  flag(name: string): boolean {
    const value = this.#body[name] ?? false;
    if (typeof value === "boolean") return value;
    this.#problems.push(`${name}: expected true or false`);
    return false;
  }

  value(name: string): JsonValue | undefined {
    return this.#body[name];
  }

  problem(text: string): void {
    this.#problems.push(text);
  }

  done(): void {
    if (this.#problems.length === 0) return;
    throw refuse("invalid-param", this.#problems.join("; "), { errors: this.#problems });
  }
}
