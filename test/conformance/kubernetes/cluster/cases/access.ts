import { type Case, refused } from "../suite/case.ts";

const needs = ["roles.rbac.authorization.k8s.io", "selfsubjectaccessreviews.authorization.k8s.io"];
const bot = "--as=system:serviceaccount:$NS:bot";

export const accessCases: readonly Case[] = [
  {
    line: 3,
    name: "auth can-i answers for an administrator, and lists all",
    needs,
    steps: [
      ["kubectl auth can-i create pods", "yes\n"],
      ["kubectl auth can-i '*' '*'", /^yes\n$/],
      ["kubectl auth can-i --list", /^\*\.\* +\[\] +\[\] +\[\*\]$/m],
    ],
  },
  {
    line: 3,
    name: "auth whoami names the user and the groups",
    since: 28,
    needs: ["selfsubjectreviews.authentication.k8s.io"],
    steps: [
      ["kubectl auth whoami -o json", { out: [/"username": ".+"/, /"system:authenticated"/] }],
      [`kubectl auth whoami ${bot}`, { out: [/^Username +system:serviceaccount:\S+:bot$/m, /system:serviceaccounts/] }],
    ],
  },
  {
    line: 3,
    name: "auth can-i answers for a ServiceAccount as its Roles say",
    needs,
    steps: [
      ["kubectl create sa bot"],
      [`kubectl auth can-i list pods ${bot}`, { code: 1, out: "no\n" }],
      ["kubectl create role reader --verb=get,list --resource=pods"],
      ["kubectl create rolebinding reader --role=reader --serviceaccount=$NS:bot"],
      [`kubectl auth can-i list pods ${bot}`, { out: "yes\n", eventually: true }],
      [`kubectl auth can-i delete pods ${bot}`, { code: 1, out: "no\n" }],
      [`kubectl auth can-i list pods -n default ${bot}`, { code: 1, out: "no\n" }],
      [`kubectl auth can-i --list ${bot}`, /^pods +\[\] +\[\] +\[(get list|list get)\]$/m],
      [`kubectl get pods ${bot}`, { err: /No resources found/ }],
      [
        `kubectl get secrets ${bot}`,
        refused(
          /secrets is forbidden: User "system:serviceaccount:\S+:bot" cannot list resource "secrets" in API group "" in the namespace/,
        ),
      ],
    ],
  },
  {
    line: 46,
    name: "who may view reads no Secrets",
    needs,
    steps: [
      ["kubectl create sa viewer && kubectl create rolebinding view --clusterrole=view --serviceaccount=$NS:viewer"],
      ["kubectl auth can-i list configmaps --as=system:serviceaccount:$NS:viewer", { out: "yes\n", eventually: true }],
      ["kubectl get secrets --as=system:serviceaccount:$NS:viewer", refused(/forbidden/)],
      ["kubectl create cm x --as=system:serviceaccount:$NS:viewer", refused(/forbidden/)],
    ],
  },
];
