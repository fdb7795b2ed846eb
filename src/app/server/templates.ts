import type { Clock } from "#lib/base/index.ts";
import { TemplateHost } from "#kernel/template/index.ts";
import { templateFiles } from "./program-paths.ts";

/** Renders templates for a command. Nothing is started before first use; the caller closes it. */
export const openTemplates = (clock: Clock): TemplateHost => new TemplateHost({ ...templateFiles, clock });
