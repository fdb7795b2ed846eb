import { builtinProviders } from "./builtin.ts";
import { kubeProviders } from "./kube.ts";
import { oamProviders } from "./oam.ts";
import type { Providers } from "./provider.ts";

export const providers: Providers = {
  ...builtinProviders,
  ...kubeProviders,
  ...oamProviders,
};
