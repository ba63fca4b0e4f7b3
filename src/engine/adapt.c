#define BAI_ADAPT_FUNCTION
#include "adapt_rules.h"
