import { builtinProviders } from "./builtin.ts";
import { configProviders } from "./config.ts";
import { emailProviders } from "./email.ts";
import { httpProviders } from "./http.ts";
import { kubeProviders } from "./kube.ts";
import { metricsProviders } from "./metrics.ts";
import { multiclusterProviders } from "./multicluster.ts";
import { oamProviders } from "./oam.ts";
import type { Providers } from "./provider.ts";
import { queryProviders } from "./query.ts";
import { terraformProviders } from "./terraform.ts";
import { timeProviders } from "./time.ts";
import { utilProviders } from "./util.ts";

/** By `provider/do`. */
export const providers: Providers = {
  ...builtinProviders,
  ...configProviders,
  ...emailProviders,
  ...httpProviders,
  ...kubeProviders,
  ...metricsProviders,
  ...multiclusterProviders,
  ...oamProviders,
  ...queryProviders,
  ...terraformProviders,
  ...timeProviders,
  ...utilProviders,
};
