import type { TemplateInfo } from "../objects.ts";
import type { JobAction } from "../render.ts";

/** True if the template is for the system; both say nothing of it: for all. */
export function isForOs({ Meta }: TemplateInfo, os: string): boolean {
  const listed = (Meta["OS"] ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "");
  return os === "" || listed.length === 0 || listed.includes("any") || listed.includes(os.toLowerCase());
}

export function actionOf(
  { ID, Name, Link, Meta }: TemplateInfo,
  { path, content }: { readonly path: string; readonly content: string },
): JobAction {
  const named = { Name: ID === "" ? Name : ID, Path: path, Meta };
  return Link === "" ? { ...named, Content: content } : { ...named, Content: "", Link: content };
}
