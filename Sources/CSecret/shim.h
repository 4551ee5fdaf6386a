#define SECRET_API_SUBJECT_TO_CHANGE
#include <libsecret/secret.h>
