import { s } from "#lib/schema/index.ts";
import { claims, flag, key, keyed, named, needs, params, templates, text, textMap, texts } from "./common.ts";

// What machines are driven with.

export const TaskSpec = named({
  ...needs,
  Templates: templates(),
  Prerequisites: texts("Tasks that run before it."),
  ExtraRoles: texts("Rights of the job's token."),
  ExtraClaims: claims(),
});

export const StageSpec = named({
  ...needs,
  BootEnv: text("Empty: keeps the machine's."),
  Tasks: texts(),
  Templates: templates(),
  Params: params(),
  Profiles: texts(),
  Reboot: flag(),
  RunnerWait: flag(),
});

export const WorkflowSpec = named({ Stages: texts() });

const arch = s.object({
  IsoFile: text(),
  Sha256: text(),
  IsoUrl: text(),
  Kernel: text(),
  Initrds: texts(),
  BootParams: text(),
  Loader: text(),
});

const os = s.object({
  Name: text(),
  Family: text(),
  Codename: text(),
  Version: text(),
  IsoFile: text(),
  IsoSha256: text(),
  IsoUrl: text(),
  SupportedArchitectures: s.optional(s.map(arch)),
});

export const BootEnvSpec = named({
  ...needs,
  OS: s.optional(os),
  Kernel: text(),
  Initrds: texts(),
  BootParams: text("A template."),
  Templates: templates(),
  OnlyUnknown: flag("For machines that are not known yet."),
  Loaders: textMap(),
});

export const ParamSpec = named({
  Secure: flag("Values are sealed."),
  Schema: s.optional(s.any({ description: "JSON Schema; its default is the value of last resort." })),
});

export const ProfileSpec = named({ Params: params(), Profiles: texts() });
export const TemplateSpec = keyed({ ID: key(), Contents: text() });
export const ContextSpec = named({ Engine: text(), Image: text() });
export const UserSpec = keyed({
  Name: key(),
  Roles: texts(),
  Secret: text("Changing it invalidates the user's tokens."),
});
export const RoleSpec = named({ Claims: claims() });
export const PluginSpec = keyed({ Name: key(), Provider: text(), Params: params(), PluginErrors: texts() });

export const PreferenceSpec = s.object({ values: s.optional(s.map(s.string())) });

const objectKey = s.object({ collection: s.string(), key: s.string() });

export const ContentBundleSpec = s.object({
  meta: s.anyObject({ description: "Name, Version and more, as uploaded." }),
  sections: s.optional(
    s.anyObject({ description: "Objects by type and key, to be loaded; the server takes them out." }),
  ),
  activeRev: s.optional(
    s.integer({ description: "Objects with this label bundle-rev are in force; replacing it switches all." }),
  ),
  counts: s.optional(s.map(s.integer())),
  warnings: texts(),
  extra: s.optional(s.anyObject({ description: "Sections of types that this server does not have." })),
  replaces: s.optional(s.list(objectKey, { description: "Writable objects that this bundle has replaced." })),
});
