import { kind, column, type ObjectOf, s } from "#lib/schema/index.ts";

/** KubeVela's kind for packages of others. */
export const Package = kind({
  group: "cue.oam.dev",
  version: "v1alpha1",
  scope: "Namespaced",
  categories: ["oam"],
  kind: "Package",
  plural: "packages",
  shortNames: ["pkg", "cpkg", "cuepkg", "cuepackage"],
  description: "A CUE package that definitions import, and the service that performs its actions.",
  spec: s.object({
    path: s.string({ description: "Import path, such as ext/db/mysql.", minLength: 1 }),
    provider: s.optional(
      s.object(
        {
          protocol: s.oneOf(["http", "https", "grpc"], { description: "http or https; grpc is not supported." }),
          endpoint: s.string({ description: "URL that receives a POST of $params at /ACTION." }),
        },
        { description: "Performs the actions whose #provider is the name of this object." },
      ),
    ),
    templates: s.map(s.string(), { description: "CUE files of the package by their names." }),
  }),
  columns: [
    column("PATH", ".spec.path"),
    column("PROTO", ".spec.provider.protocol"),
    column("ENDPOINT", ".spec.provider.endpoint"),
  ],
});
export type Package = ObjectOf<typeof Package>;
