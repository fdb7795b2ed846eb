import type { Clock } from "#lib/base/index.ts";
import { TemplateHost } from "#kernel/template/index.ts";
import { templateFiles } from "./program-paths.ts";

/** What renders templates, for a command that needs no more of a server than that. Nothing is started before it is used; the caller closes it. */
export const openTemplates = (clock: Clock): TemplateHost => new TemplateHost({ ...templateFiles, clock });
