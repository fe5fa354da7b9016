import type { Marker } from "./marker-search.ts";
import { entropyOf, isPlaceholder } from "./values.ts";

export interface SecretRule {
  kind: string;
  /** Every secret of the kind contains one of these. */
  markers: readonly Marker[];
  /** The secret is group 1 of the match, or else the whole match. */
  pattern: RegExp;
  /** False if the text is no secret. If it is left out, the pattern alone decides. */
  accepts(secret: string, match: RegExpMatchArray, text: string): boolean;
}

/** No letter or digit is before this place, or an escape of JSON, of a URL or of a terminal ends here. */
const BEGINNING = String.raw`(?:(?<![A-Za-z\d])|(?<=\\(?:[nrt]|u[\da-fA-F]{4})|%[\dA-F]{2}|\x1b\[[\d;]{0,20}[mK]))`;
const ENDING = String.raw`(?![A-Za-z\d])`;

/** @param entropyMin  The least Shannon entropy, in bits per character. 0 if the pattern alone decides. */
function rule(kind: string, markers: string | Marker[], pattern: RegExp, entropyMin = 0): SecretRule {
  const source = pattern.source.replace(/^\\b/, () => BEGINNING).replaceAll("\\b", () => ENDING);
  return {
    kind,
    markers: typeof markers === "string" ? marked(markers) : markers,
    pattern: new RegExp(source, `${pattern.flags}dg`),
    accepts: (secret) => !isPlaceholder(secret) && entropyOf(secret) >= entropyMin,
  };
}

/** A rule for tokens that are random behind one of these beginnings. */
function prefixed(kind: string, prefixes: string, body = /[\w-]{20,200}/): SecretRule {
  const source = `(?=[\\w-]{0,60}\\d)${body.source}`;
  const literals = prefixes.split(" ").map((prefix) => prefix.replaceAll(".", "\\."));
  const markers = marked(prefixes, new RegExp(source, "y"));
  return rule(kind, markers, new RegExp(`\\b(?:${literals.join("|")})${source}`), 3);
}

export function marked(literals: string, follows?: RegExp): Marker[] {
  return literals.split(" ").map((literal) => ({ literal, follows }));
}

/**
 * Secrets that their providers mark with a fixed beginning or form. The forms are those of gitleaks (MIT, config/gitleaks.toml of
 * July 2026), and of providers that it does not know.
 */
export const SECRET_RULES: readonly SecretRule[] = [
  {
    ...rule(
      "private-key",
      "PRIVATE KEY",
      /-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----(?:[^-]{64,20000}(?:-[^-]{0,1000}){0,20}?-----END[ A-Z0-9_-]{0,100}KEY(?: BLOCK)?-----|(?:[A-Za-z0-9+/=\s\\]|(?<=\n)-(?!-)){64,})/,
    ),
    accepts: () => true,
  },
  rule("1password-token", "ops_eyJ", /ops_eyJ[a-zA-Z0-9+/]{250,}={0,3}/),
  rule("age-secret-key", "AGE-SECRET-KEY-1", /AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}/),
  rule("alibaba-access-key", "LTAI", /\bLTAI[a-zA-Z0-9]{20}\b/),
  rule("anthropic-api-key", "sk-ant-", /\bsk-ant-(?:api|admin|oat|ort)\d\d-[\w-]{80,120}/),
  rule(
    "artifactory-token",
    marked("AKCp cmVmd", /[A-Za-z\d]{59}/y),
    /\b(?:AKCp[A-Za-z0-9]{69}|cmVmd[A-Za-z0-9]{59})\b/,
    4.5,
  ),
  rule("atlassian-token", "ATATT3", /\bATATT3[A-Za-z0-9_=-]{186}/),
  rule("aws-access-key", marked("AKIA ASIA ABIA ACCA", /[A-Z2-7]{16}/y), /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b/),
  rule(
    "aws-secret-key",
    "aws_secret AWS_SECRET secretAccessKey SecretAccessKey",
    /(?:aws_secret_access_key|AWS_SECRET_ACCESS_KEY|secretAccessKey|SecretAccessKey)["'\\]{0,4}\s{0,3}[:=]\s{0,3}["'\\]{0,4}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/,
    4,
  ),
  rule("aws-bedrock-key", "ABSK", /\bABSK[A-Za-z0-9+/]{109,269}={0,2}/),
  rule(
    "azure-client-secret",
    marked("Q~", /[\w~.-]{31}/y),
    /(?<![\w~.-])[a-zA-Z0-9_~.]{3}\dQ~[a-zA-Z0-9_~.-]{31,34}(?![\w~.-])/,
  ),
  rule("azure-storage-key", "AccountKey=", /AccountKey=([A-Za-z0-9+/]{86}==)/),
  rule("cloudflare-origin-key", "v1.0-", /\bv1\.0-[a-f0-9]{24}-[a-f0-9]{146}\b/),
  rule("databricks-token", marked("dapi", /[a-f\d]{32}/y), /\bdapi[a-f0-9]{32}(?:-\d)?\b/),
  rule("digitalocean-token", "doo_v1_ dop_v1_ dor_v1_", /\bdo[opr]_v1_[a-f0-9]{64}\b/),
  rule("discord-webhook", "/api/webhooks/", /https:\/\/discord(?:app)?\.com\/api\/webhooks\/\d{17,20}\/([\w-]{60,80})/),
  rule(
    "doppler-token",
    "dp.audit. dp.ct. dp.pt. dp.sa. dp.scim. dp.st.",
    /\bdp\.(?:audit|ct|pt|sa|scim|st)\.(?:[a-z0-9_-]{2,35}\.)?[a-zA-Z0-9]{40,44}\b/,
  ),
  rule("dynatrace-token", "dt0c01.", /\bdt0c01\.[a-zA-Z0-9]{24}\.[a-zA-Z0-9]{64}\b/),
  rule("flyio-token", "fo1_ fm1r_ fm1a_ fm2_", /\b(?:fo1_[\w-]{43}|fm(?:1[ar]|2)_[a-zA-Z0-9+/]{60,}={0,3})/),
  rule("google-api-key", "AIza AQ.Ab", /\b(?:AIza[\w-]{35}|AQ\.Ab[\w-]{40,60})(?![\w-])/),
  rule("google-oauth-secret", "GOCSPX-", /\bGOCSPX-[\w-]{28}(?![\w-])/),
  rule("google-oauth-token", marked("ya29. 1//0", /[\w-]{40}/y), /\b(?:ya29\.[\w-]{60,}|1\/\/0[\w-]{40,200})/),
  rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", /\bgh[pousr]_[0-9a-zA-Z]{36,255}\b/),
  rule("github-fine-grained-token", "github_pat_", /\bgithub_pat_\w{82}\b/),
  rule(
    "gitlab-token",
    "glpat- glcbt- gldt- glft- glimt- glagent- gloas- glptt- glrt- glsoat- glffct- GR1348941",
    /\b(?:gl(?:pat|cbt|dt|ft|imt|agent|oas|ptt|rt|soat|ffct)-[\w-]{20,300}(?:\.[0-9a-z]{9})?|GR1348941[\w-]{20})/,
  ),
  rule("grafana-token", "glc_ glsa_", /\b(?:glc_[A-Za-z0-9+/]{32,400}={0,3}|glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}\b)/),
  rule("groq-api-key", "gsk_", /\bgsk_[A-Za-z0-9]{52}\b/),
  rule("heroku-api-key", "HRKU-AA", /\bHRKU-AA[0-9a-zA-Z_-]{58}/),
  rule("huggingface-token", marked("hf_ api_org_", /[A-Za-z]{34}/y), /\b(?:hf|api_org)_[a-zA-Z]{34}\b/),
  rule("infracost-key", marked("ico-", /[A-Za-z\d]{32}/y), /\bico-[a-zA-Z0-9]{32}\b/),
  rule(
    "jwt",
    marked("eyJ", /[\w-]{14}/y),
    /\b(?<![-_])eyJ[a-zA-Z0-9_-]{14,}\.eyJ?[a-zA-Z0-9/\\_-]{17,}\.[a-zA-Z0-9/\\_-]{10,}={0,2}/,
    3,
  ),
  rule("langsmith-key", "lsv2_", /\blsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}\b/),
  rule("linear-api-key", "lin_api_ lin_oauth_", /\blin_(?:api|oauth)_[a-zA-Z0-9]{40,64}\b/),
  rule("mailgun-key", marked("key-", /[a-f\d]{32}/y), /\bkey-[a-f0-9]{32}\b/, 3.2),
  rule(
    "microsoft-teams-webhook",
    "webhook.office.com",
    /https:\/\/[a-z0-9]+\.webhook\.office\.com\/webhookb2\/[\w@/-]{80,}/,
  ),
  rule("new-relic-key", "NRAK- NRII- NRJS-", /\b(?:NRAK-[A-Z0-9]{27}|NRII-[\w-]{32}|NRJS-[a-f0-9]{19})\b/),
  rule("notion-token", "ntn_", /\bntn_[A-Za-z0-9]{40,60}\b/),
  rule("npm-token", "npm_", /\bnpm_[a-zA-Z0-9]{36}\b/),
  rule(
    "openai-api-key",
    "T3BlbkFJ",
    /\bsk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,80}|[a-zA-Z0-9]{20})T3BlbkFJ[A-Za-z0-9_-]{20,80}/,
  ),
  rule("openrouter-api-key", "sk-or-v1-", /\bsk-or-v1-[a-f0-9]{64}\b/),
  rule("perplexity-api-key", "pplx-", /\bpplx-[a-zA-Z0-9]{48}\b/),
  rule("planetscale-token", "pscale_", /\bpscale_(?:tkn|oauth|pw)_[\w=.-]{32,64}/),
  rule("postman-key", "PMAK-", /\bPMAK-[a-fA-F0-9]{24}-[a-fA-F0-9]{34}\b/),
  rule("prefect-key", "pnu_", /\bpnu_[a-zA-Z0-9]{36}\b/),
  rule("pulumi-token", marked("pul-", /[a-f\d]{40}/y), /\bpul-[a-f0-9]{40}\b/),
  rule("pypi-token", "pypi-AgEIcHlwaS5vcmc", /pypi-AgEIcHlwaS5vcmc[\w-]{50,1000}/),
  rule("replicate-token", "r8_", /\br8_[a-zA-Z0-9]{37}\b/),
  rule("rubygems-key", "rubygems_", /\brubygems_[a-f0-9]{48}\b/),
  rule("sendgrid-key", marked("SG.", /[\w-]{22}\./y), /\bSG\.[\w-]{22}\.[\w-]{43}(?![\w-])/),
  rule("sendinblue-key", "xkeysib-", /\bxkeysib-[a-f0-9]{64}-[a-zA-Z0-9]{16}\b/),
  rule("sentry-token", "sntrys_ sntryu_", /\b(?:sntrys_eyJpYXQiO[\w+/=]{80,500}|sntryu_[a-f0-9]{64}\b)/),
  rule("shopify-token", "shpat_ shpca_ shppa_ shpss_", /\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b/),
  rule(
    "slack-token",
    "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe xoxc- xoxd-",
    /\bxox[abcdopers](?:\.xox[bp])?-[\w%-]{20,300}/,
  ),
  rule("slack-app-token", "xapp-", /\bxapp-\d-[A-Z0-9]+-\d+-[a-z0-9]+/),
  rule(
    "slack-webhook",
    "hooks.slack.com",
    /hooks\.slack\.com\/(?:services|workflows|triggers)\/([A-Za-z0-9+/]{43,56})/,
  ),
  rule("sourcegraph-token", "sgp_", /\bsgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}\b/),
  rule("square-token", marked("sq0atp- sq0csp- EAAA", /[\w-]{22}/y), /\b(?:sq0(?:atp|csp)-[\w-]{22,60}|EAAA[\w-]{60})/),
  rule(
    "stripe-key",
    "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_",
    /\b[sr]k_(?:test|live|prod)_[a-zA-Z0-9]{16,99}\b/,
  ),
  rule("supabase-key", "sb_secret_ sbp_", /\b(?:sb_secret_[\w-]{31,}|sbp_[a-f0-9]{40}\b)/),
  rule("tavily-key", "tvly-", /\btvly-(?:dev-|prod-)?[a-zA-Z0-9]{32}\b/),
  rule("telegram-bot-token", ":AA", /(?<!\d)\d{8,10}:AA[\w-]{33}(?![\w-])/),
  rule("twilio-key", marked("SK", /[0-9a-f]{32}/y), /\bSK[0-9a-f]{32}\b/),
  rule("vault-token", "hvs. hvb.", /\b(?:hvs\.[\w-]{90,120}|hvb\.[\w-]{138,300})/),
  rule("vercel-token", "vcp_ vck_", /\bvc[pk]_[a-zA-Z0-9]{50,60}\b/),
  rule("xai-api-key", "xai-", /\bxai-[a-zA-Z0-9]{80}\b/),
  rule(
    "url-password",
    marked("://", /[^\s:/@]{0,80}:[^\s:/@]{6,200}@/y),
    /\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s:/@'"`<>()[\]{}|\\]{0,80}:([^\s:/@'"`<>()[\]{}|\\$*]{6,200})@[a-zA-Z0-9.-]+/,
    2.6,
  ),
  rule("langfuse-key", "sk-lf- pk-lf-", /\b[sp]k-lf-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}\b/),
  rule(
    "secret-key",
    marked("sk- sk_", /[\w-]{24}/y),
    /\bsk(?:[_-][a-z\d]{1,12}){0,3}[_-](?=[A-Za-z]{0,30}\d)[A-Za-z\d]{24,200}/,
    3,
  ),
  prefixed("docker-token", "dckr_pat_ dckr_oat_"),
  prefixed("tailscale-key", "tskey-"),
  prefixed("nvidia-api-key", "nvapi-"),
  prefixed("e2b-api-key", "e2b_", /[a-f\d]{32,64}/),
  prefixed("together-api-key", "tgp_v1_"),
  prefixed("cerebras-api-key", "csk-", /[a-z\d]{32,64}/),
  prefixed("fireworks-api-key", "fw_", /[A-Za-z\d]{20,40}/),
  prefixed("firecrawl-api-key", "fc-", /[a-f\d]{32}(?![A-Za-z\d])/),
  prefixed("neon-api-key", "napi_", /[a-z\d]{40,90}/),
  prefixed("resend-api-key", "re_", /[A-Za-z\d]{6,12}_[A-Za-z\d]{20,32}/),
  prefixed("posthog-key", "phx_ phs_ phc_ pha_ phr_", /[A-Za-z\d_]{30,60}/),
  prefixed("jina-api-key", "jina_"),
  prefixed("llamacloud-key", "llx-"),
  prefixed("logfire-token", "pylf_v"),
  prefixed("runpod-api-key", "rpa_", /[A-Z\d]{30,60}/),
  prefixed("wandb-api-key", "wandb_v1_"),
  prefixed("apify-token", "apify_api_"),
  prefixed("browserbase-key", "bb_live_"),
  prefixed("cursor-api-key", "crsr_", /[a-f\d]{40,80}/),
  prefixed("netlify-token", "nfp_ nfc_ nfo_ nfu_", /[A-Za-z\d]{32,60}/),
  prefixed("render-api-key", "rnd_", /[A-Za-z\d]{24,40}/),
  prefixed("buildkite-token", "bkua_ bkct_ bkaj_", /[a-z\d]{32,64}/),
  prefixed("circleci-token", "CCIPAT_ CCIPRJ_"),
  prefixed("snyk-token", "snyk_uat. snyk_sat.", /[\w.-]{40,200}/),
  prefixed("sonar-token", "sqp_ squ_ sqa_", /[a-f\d]{40}/),
  prefixed("contentful-token", "CFPAT-"),
  prefixed("clojars-token", "CLOJARS_"),
  prefixed("packagist-token", "packagist_"),
  prefixed("dbt-token", "dbtc_ dbtu_"),
  prefixed("typeform-token", "tfp_"),
  prefixed("brevo-key", "xsmtpsib-"),
  prefixed("mailersend-token", "mlsn.", /[a-f\d]{40,80}/),
  prefixed("axiom-token", "xaat- xapt- xait-"),
  prefixed("honeycomb-key", "hcaik_ hcbik_ hcamk_"),
  prefixed("mongodb-atlas-secret", "mdb_sa_sk_"),
  prefixed("xata-api-key", "xau_"),
  prefixed(
    "payment-key",
    "shippo_live_ shippo_test_ duffel_live_ duffel_test_ FLWSECK- FLWSECK_TEST- rzp_live_ rzp_test_",
    /[\w-]{12,200}/,
  ),
  prefixed("plaid-token", "access-sandbox- access-production- access-development-"),
  prefixed("easypost-key", "EZAK EZTK", /[A-Za-z\d]{54}/),
  prefixed("woocommerce-key", "ck_ cs_", /[a-f\d]{40}/),
  prefixed("shopify-token", "shprka_ shptka_", /[a-f\d]{32}/),
  prefixed("hubspot-token", "pat-na1- pat-eu1-"),
  prefixed("pinterest-token", "pina_"),
  prefixed("facebook-token", "EAA", /[A-Za-z\d]{100,400}/),
  prefixed("dropbox-token", "sl.", /[\w-]{120,1500}/),
  prefixed("atlassian-token", "ATCTT3 ATBB ATTA", /[A-Za-z\d_=-]{24,300}/),
  prefixed("adafruit-key", "aio_", /[A-Za-z\d]{28}/),
  prefixed("frameio-token", "fio-u-"),
  prefixed("readme-key", "rdme_"),
  prefixed("scalingo-token", "tk-us-"),
  prefixed("onesignal-key", "os_v2_"),
  prefixed("mapbox-token", "sk.eyJ", /[\w-]{20,200}\.[\w-]{20,}/),
  prefixed("octopus-key", "API-", /[A-Z\d]{26}(?![A-Z\d])/),
  prefixed("pinecone-key", "pckey_"),
  prefixed("crates-token", "cio", /[A-Za-z\d]{32}(?![A-Za-z\d])/),
  prefixed("nuget-key", "oy2", /[a-z\d]{43}(?![A-Za-z\d])/),
  prefixed("brave-api-key", "BSA", /[A-Z][\w-]{26,30}(?![\w-])/),
  rule("clickup-token", marked("pk_", /\d{6,9}_/y), /\bpk_\d{6,9}_[A-Z\d]{32}\b/),
  rule("notion-token", marked("secret_", /[A-Za-z\d]{43}/y), /\bsecret_[A-Za-z\d]{43}\b/, 3),
  rule("airtable-token", marked("pat", /[A-Za-z\d]{14}\./y), /\bpat[A-Za-z\d]{14}\.[a-f\d]{64}\b/),
  rule("terraform-token", ".atlasv1.", /\b[A-Za-z\d]{14}\.atlasv1\.[\w=-]{60,70}/),
  rule("harness-token", marked("pat. sat.", /[\w-]{22}\./y), /\b[ps]at\.[\w-]{22}\.[A-Za-z\d]{24}\.[A-Za-z\d]{20}\b/),
  rule("openshift-token", "sha256~", /\bsha256~[\w-]{43}(?![\w-])/),
  rule("mailchimp-key", marked("-us", /\d{1,2}(?![A-Za-z\d])/y), /\b[a-f\d]{32}-us\d{1,2}\b/),
  rule("azure-key", "JQQJ99", /\b[A-Za-z\d]{52}JQQJ99[A-Za-z\d]{20,34}\b/),
  rule("azure-devops-token", "AZDO", /\b[A-Za-z\d]{76}AZDO[A-Za-z\d]{4}\b/),
  rule("twitter-bearer-token", "AAAAAAAAAAAAAAAAAAAA", /\bA{20}[A-Za-z\d%]{60,200}/, 3.5),
  rule(
    "1password-secret-key",
    marked("A3-", /[A-Z\d]{6}-/y),
    /\bA3-[A-Z\d]{6}-(?:[A-Z\d]{11}|[A-Z\d]{6}-[A-Z\d]{5})(?:-[A-Z\d]{5}){3}\b/,
  ),
  rule(
    "putty-key",
    "Private-Lines:",
    /Private-Lines: \d{1,3}((?:\s|\\[nr])+(?:[A-Za-z\d+/=]{1,64}(?:\s|\\[nr])+){1,200})Private-/,
  ),
  rule("wireguard-key", "PrivateKey PresharedKey", /(?:PrivateKey|PresharedKey)\s{0,9}=\s{0,9}([A-Za-z\d+/]{43}=)/),
  rule(
    "jwk-private-key",
    '"kty" "kty\\',
    /\\{0,3}"(?:d|k|p|q|dp|dq|qi)\\{0,3}"\s{0,9}:\s{0,9}\\{0,3}"([\w-]{16,2000})\\{0,3}"/,
    3,
  ),
  rule("figma-token", "figd_", /\bfigd_[\w-]{40}/),
  rule("pinecone-key", "pcsk_", /\bpcsk_[a-zA-Z0-9_]{50,80}/),
  rule("vercel-blob-token", "vercel_blob_rw_", /\bvercel_blob_rw_[a-zA-Z0-9_]{30,80}/),
  rule("webhook-secret", "whsec_", /\bwhsec_[A-Za-z0-9+/]{24,}={0,2}/),
  rule(
    "discord-bot-token",
    marked("M N O", /[A-Za-z\d_-]{22,27}\.[\w-]{6}\.[\w-]{27}/y),
    /\b[MNO][A-Za-z\d_-]{22,27}\.[\w-]{6}\.[\w-]{27,45}\b/,
    4,
  ),
  rule("signed-url", "sig= -Signature=", /[?&](?:sig|X-Amz-Signature|X-Goog-Signature)=([A-Za-z0-9%+/\-_]{24,})/),
];
