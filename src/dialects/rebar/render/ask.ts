import { ok, type Result } from "#lib/base/index.ts";
import type { TemplateFailure, TemplateHost } from "#kernel/template/index.ts";

export type Templates = Pick<TemplateHost, "ask">;

/** An operation of `go/rebar`; its Go function returns a `T`. Failures are of time, memory and the like. */
export async function askModule<T>(templates: Templates, question: string): Promise<Result<T, TemplateFailure>> {
  const asked = await templates.ask(question);
  if (!asked.ok) return asked;
  const { value, misuse } = JSON.parse(asked.value) as { readonly value?: T; readonly misuse?: string };
  if (value === undefined) throw new Error(`the template module does not understand: ${misuse ?? "nothing"}`);
  return ok(value);
}
